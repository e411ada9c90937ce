"""The provenance of an artifact: a SLSA statement of who built it from what, signed with Ed25519 in a DSSE
envelope."""

import base64
import binascii
import datetime as dt
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from stead.artifacts.digests import Digest, hexadecimal
from stead.artifacts.manifest import canonical
from stead.artifacts.refusals import ArtifactUntrusted

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
_MAX_BYTES = 1 << 20
_MAX_SIGNATURES = 16


@dataclass(frozen=True, slots=True)
class Provenance:
    artifact: Digest
    """The digest of its manifest."""
    builder: str
    """URI of the program that vouches for the build."""
    build_type: str
    """URI that defines the parameters."""
    source: str
    """A URI such as `git+https://example.com/site.git@refs/heads/main`."""
    commit: str
    parameters: dict[str, str]
    invocation: str
    """Identifies the run of the build."""
    started: dt.datetime
    finished: dt.datetime


class _Camel(msgspec.Struct, frozen=True, rename="camel"):
    """Unknown fields are ignored, as in-toto requires of readers."""


class _Subject(_Camel, frozen=True):
    name: str
    digest: dict[str, str]


class _Dependency(_Camel, frozen=True):
    uri: str
    digest: dict[str, str]


class _Definition(_Camel, frozen=True):
    build_type: str
    external_parameters: dict[str, Any]
    resolved_dependencies: list[_Dependency]


class _Builder(_Camel, frozen=True):
    id: str


class _Metadata(_Camel, frozen=True):
    invocation_id: str
    started_on: dt.datetime
    finished_on: dt.datetime


class _Details(_Camel, frozen=True):
    builder: _Builder
    metadata: _Metadata


class _Predicate(_Camel, frozen=True):
    build_definition: _Definition
    run_details: _Details


class _Statement(_Camel, frozen=True):
    type: str = msgspec.field(name="_type")
    subject: list[_Subject]
    predicate_type: str
    predicate: _Predicate


class _Head(_Camel, frozen=True):
    """The fields that tell the kind of a statement before the rest is decoded."""

    type: str = msgspec.field(name="_type")
    predicate_type: str


class _Signature(msgspec.Struct, frozen=True):
    sig: str
    keyid: str = ""


class _Envelope(_Camel, frozen=True):
    payload_type: str
    payload: str
    signatures: list[_Signature]


def key_id(key: Ed25519PublicKey) -> str:
    """The SHA-256 of the public key as `openssl pkey -pubin -outform DER` prints it."""
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """The bytes that DSSE signs: type and content with their lengths, so that neither can pass for a part of
    the other."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign(provenance: Provenance, key: Ed25519PrivateKey) -> bytes:
    """Return the envelope as JSON."""
    payload = canonical(_statement(provenance))
    signature = key.sign(pre_authentication(PAYLOAD_TYPE, payload))
    return canonical(
        _Envelope(
            PAYLOAD_TYPE,
            base64.b64encode(payload).decode(),
            [_Signature(base64.b64encode(signature).decode(), key_id(key.public_key()))],
        )
    )


def verify(envelope: bytes, keys: Iterable[Ed25519PublicKey], digest: Digest) -> Provenance:
    """Return the provenance of the artifact with this digest; refused unless one of the keys signed it. Pass
    former keys as well, as long as artifacts that they signed may be deployed."""
    if len(envelope) > _MAX_BYTES:
        raise ArtifactUntrusted("the envelope is too long")
    try:
        decoded = msgspec.json.decode(envelope, type=_Envelope)
    except msgspec.MsgspecError:
        raise ArtifactUntrusted("the envelope cannot be read") from None
    if decoded.payload_type != PAYLOAD_TYPE:
        raise ArtifactUntrusted("the envelope holds something else than a statement")
    payload = _base64(decoded.payload)
    _check_signatures(decoded.signatures, pre_authentication(decoded.payload_type, payload), keys)
    return _provenance(_read(payload), digest)


def _check_signatures(signatures: list[_Signature], signed: bytes, keys: Iterable[Ed25519PublicKey]) -> None:
    if not signatures:
        raise ArtifactUntrusted("the envelope is not signed")
    if len(signatures) > _MAX_SIGNATURES:
        raise ArtifactUntrusted("the envelope has too many signatures")
    known = {key_id(key): key for key in keys}
    candidates = [(known[signature.keyid], signature) for signature in signatures if signature.keyid in known]
    if not candidates:
        raise ArtifactUntrusted("no key that is known has signed the envelope")
    for key, signature in candidates:
        try:
            key.verify(_base64(signature.sig), signed)
        except InvalidSignature:
            continue
        return
    raise ArtifactUntrusted("the signature does not belong to this content")


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ArtifactUntrusted("the envelope cannot be read") from None


def _read(payload: bytes) -> _Statement:
    try:
        head = msgspec.json.decode(payload, type=_Head)
        if head.type != STATEMENT_TYPE:
            raise ArtifactUntrusted("the envelope holds something else than a statement")
        if head.predicate_type != PREDICATE_TYPE:
            raise ArtifactUntrusted("the statement is not about how something was built")
        return msgspec.json.decode(payload, type=_Statement)
    except msgspec.MsgspecError:
        raise ArtifactUntrusted("the statement cannot be read") from None


def _statement(about: Provenance) -> _Statement:
    return _Statement(
        type=STATEMENT_TYPE,
        subject=[_Subject("artifact", {"sha256": hexadecimal(about.artifact)})],
        predicate_type=PREDICATE_TYPE,
        predicate=_Predicate(
            _Definition(
                about.build_type,
                {"source": about.source, **about.parameters},
                [_Dependency(about.source, {"gitCommit": about.commit} if about.commit else {})],
            ),
            _Details(
                _Builder(about.builder),
                _Metadata(
                    about.invocation, about.started.astimezone(dt.UTC), about.finished.astimezone(dt.UTC)
                ),
            ),
        ),
    )


def _provenance(statement: _Statement, digest: Digest) -> Provenance:
    subjects = [subject.digest.get("sha256") for subject in statement.subject]
    if subjects != [hexadecimal(digest)]:
        raise ArtifactUntrusted("the statement is about another artifact")
    definition, details = statement.predicate.build_definition, statement.predicate.run_details
    parameters = dict(definition.external_parameters)
    source = parameters.pop("source", None)
    if [source] != [dependency.uri for dependency in definition.resolved_dependencies]:
        raise ArtifactUntrusted("the statement does not say what was built")
    if not all(isinstance(value, str) for value in parameters.values()):
        raise ArtifactUntrusted("the statement cannot be read")
    return Provenance(
        artifact=digest,
        builder=details.builder.id,
        build_type=definition.build_type,
        source=definition.resolved_dependencies[0].uri,
        commit=definition.resolved_dependencies[0].digest.get("gitCommit", ""),
        parameters=parameters,
        invocation=details.metadata.invocation_id,
        started=details.metadata.started_on,
        finished=details.metadata.finished_on,
    )
