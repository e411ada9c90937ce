"""Signed statements are accepted, all others are refused, and openssl agrees."""

import base64
import datetime as dt
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from stead.artifacts import digests
from stead.artifacts.provenance import PAYLOAD_TYPE, Provenance, key_id, pre_authentication, sign, verify
from stead.artifacts.refusals import ArtifactUntrusted

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
PUBLIC = KEY.public_key()
ARTIFACT = digests.of(b"an artifact")
BUILT = Provenance(
    artifact=ARTIFACT,
    builder="https://stead.example/builders/static/v1",
    build_type="https://stead.example/builds/static/v1",
    source="git+https://example.com/site.git@refs/heads/main",
    commit="0123456789abcdef0123456789abcdef01234567",
    parameters={"builder": "static", "output": "dist"},
    invocation="job_01",
    started=dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.UTC),
    finished=dt.datetime(2024, 5, 6, 7, 9, 9, 500, tzinfo=dt.UTC),
)
ENVELOPE = sign(BUILT, KEY)


def test_a_signed_statement_can_be_read() -> None:
    assert verify(ENVELOPE, [PUBLIC], ARTIFACT) == BUILT


def test_the_pre_authentication_encoding_follows_the_specification() -> None:
    assert (
        pre_authentication("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pre_authentication("ü", b"") == b"DSSEv1 2 \xc3\xbc 0 "


def test_the_statement_follows_slsa() -> None:
    envelope = msgspec.json.decode(ENVELOPE)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert msgspec.json.decode(base64.b64decode(envelope["payload"])) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "artifact", "digest": {"sha256": ARTIFACT.removeprefix("sha256:")}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILT.build_type,
                "externalParameters": {"source": BUILT.source, "builder": "static", "output": "dist"},
                "resolvedDependencies": [{"uri": BUILT.source, "digest": {"gitCommit": BUILT.commit}}],
            },
            "runDetails": {
                "builder": {"id": BUILT.builder},
                "metadata": {
                    "invocationId": "job_01",
                    "startedOn": "2024-05-06T07:08:09Z",
                    "finishedOn": "2024-05-06T07:09:09.000500Z",
                },
            },
        },
    }


def test_openssl_verifies_the_signature(tmp_path: Path) -> None:
    envelope = msgspec.json.decode(ENVELOPE)
    payload = base64.b64decode(envelope["payload"])
    (tmp_path / "signed").write_bytes(
        b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
    )
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    (tmp_path / "key.pem").write_bytes(PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "signed"]
    told = subprocess.run(
        [*command, "-sigfile", "sig"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "Signature Verified Successfully" in told.stdout


def test_former_keys_verify_and_removed_keys_do_not() -> None:
    later = sign(BUILT, OTHER)
    assert verify(ENVELOPE, [OTHER.public_key(), PUBLIC], ARTIFACT) == BUILT
    assert verify(later, [OTHER.public_key(), PUBLIC], ARTIFACT) == BUILT
    with pytest.raises(ArtifactUntrusted):
        verify(ENVELOPE, [OTHER.public_key()], ARTIFACT)


def test_one_valid_signature_among_others_is_enough() -> None:
    def add(envelope: Any) -> None:
        envelope["signatures"].insert(0, {"keyid": "somebody", "sig": "AAAA"})
        envelope["signatures"].insert(
            0, {"keyid": key_id(PUBLIC), "sig": base64.b64encode(bytes(64)).decode()}
        )

    assert verify(_changed(add), [PUBLIC], ARTIFACT) == BUILT


def _changed(change: Callable[[Any], object]) -> bytes:
    envelope = msgspec.json.decode(ENVELOPE)
    change(envelope)
    return msgspec.json.encode(envelope)


def _signed(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Another statement that the key has signed."""
    signature = KEY.sign(pre_authentication(payload_type, payload))
    return msgspec.json.encode(
        {
            "payloadType": payload_type,
            "payload": base64.b64encode(payload).decode(),
            "signatures": [{"keyid": key_id(PUBLIC), "sig": base64.b64encode(signature).decode()}],
        }
    )


def _statement(change: Callable[[Any], object]) -> bytes:
    statement = msgspec.json.decode(base64.b64decode(msgspec.json.decode(ENVELOPE)["payload"]))
    change(statement)
    return _signed(msgspec.json.encode(statement))


def _signature(**fields: object) -> Callable[[Any], object]:
    return lambda envelope: envelope["signatures"][0].update(fields)


PAYLOAD = base64.b64decode(msgspec.json.decode(ENVELOPE)["payload"])
TAMPERED = base64.b64encode(PAYLOAD.replace(b"refs/heads/main", b"refs/heads/evil")).decode()

REFUSED: dict[str, tuple[bytes, str]] = {
    "another artifact's": (sign(replace(BUILT, artifact=digests.of(b"other")), KEY), "another artifact"),
    "another key": (sign(BUILT, OTHER), "no key that is known"),
    "another key under our name": (
        _changed(_signature(sig=msgspec.json.decode(sign(BUILT, OTHER))["signatures"][0]["sig"])),
        "does not belong",
    ),
    "tampered payload": (_changed(lambda envelope: envelope.update(payload=TAMPERED)), "does not belong"),
    "another payload type": (
        _changed(lambda envelope: envelope.update(payloadType="text/plain")),
        "something else",
    ),
    "another payload type, signed": (_signed(PAYLOAD, "text/plain"), "something else"),
    "signed without its type": (
        _changed(_signature(sig=base64.b64encode(KEY.sign(PAYLOAD)).decode())),
        "does not belong",
    ),
    "no signature": (_changed(lambda envelope: envelope.update(signatures=[])), "not signed"),
    "empty signature": (_changed(_signature(sig="")), "does not belong"),
    "signature cut short": (
        _changed(_signature(sig=base64.b64encode(bytes(63)).decode())),
        "does not belong",
    ),
    "signature that is no base64": (_changed(_signature(sig="*")), "cannot be read"),
    "no key named": (_changed(_signature(keyid="")), "no key that is known"),
    "far too many signatures": (
        _changed(lambda envelope: envelope.update(signatures=envelope["signatures"] * 99)),
        "too many",
    ),
    "payload that is no base64": (_changed(lambda envelope: envelope.update(payload="*")), "cannot be read"),
    "no payload": (_changed(lambda envelope: envelope.pop("payload")), "cannot be read"),
    "unknown predicate": (
        _statement(lambda statement: statement.update(predicateType="https://slsa.dev/provenance/v0.2")),
        "not about how",
    ),
    "unknown statement": (
        _statement(lambda statement: statement.update(_type="https://in-toto.io/Statement/v0.1")),
        "something else",
    ),
    "no subject": (_statement(lambda statement: statement.update(subject=[])), "another artifact"),
    "two subjects": (
        _statement(
            lambda statement: statement["subject"].append({"name": "b", "digest": {"sha256": "0" * 64}})
        ),
        "another artifact",
    ),
    "digest of another kind": (
        _statement(lambda statement: statement["subject"][0].update(digest={"sha512": "0"})),
        "another artifact",
    ),
    "no predicate": (_statement(lambda statement: statement.pop("predicate")), "cannot be read"),
    "no source": (
        _statement(
            lambda statement: statement["predicate"]["buildDefinition"].update(resolvedDependencies=[])
        ),
        "what was built",
    ),
    "not JSON": (b"hello", "cannot be read"),
    "nothing": (b"", "cannot be read"),
    "a list": (b"[]", "cannot be read"),
    "far too long": (b" " * (2 << 20), "too long"),
}


@pytest.mark.parametrize(("envelope", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_envelope_is_refused(envelope: bytes, reason: str) -> None:
    with pytest.raises(ArtifactUntrusted, match=reason) as refused:
        verify(envelope, [PUBLIC], ARTIFACT)
    assert refused.value.code == "artifact.signature_invalid"


def test_without_keys_every_envelope_is_refused() -> None:
    with pytest.raises(ArtifactUntrusted):
        verify(ENVELOPE, [], ARTIFACT)


def test_changing_any_byte_of_the_payload_breaks_the_signature() -> None:
    for at in range(0, len(PAYLOAD), 7):
        other = PAYLOAD[:at] + bytes([PAYLOAD[at] ^ 1]) + PAYLOAD[at + 1 :]
        envelope = msgspec.json.decode(ENVELOPE) | {"payload": base64.b64encode(other).decode()}
        with pytest.raises(ArtifactUntrusted):
            verify(msgspec.json.encode(envelope), [PUBLIC], ARTIFACT)
