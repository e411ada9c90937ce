"""Content whose signature does not match is not served. The release before it still is."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stead.artifacts import digests, provenance
from stead.artifacts.limits import LAYER
from stead.artifacts.provenance import Provenance
from stead.control.artifacts.rules import blob_name
from stead.control.builds.rules import staged_object_name
from tests.delivery.delivery import Delivery, Site

INVALID = "artifact.signature_invalid"


async def _served(delivery: Delivery) -> Site:
    """A site with a valid release."""
    site = await delivery.site()
    good = await delivery.artifact(site, {"index.html": "good"})
    assert (await delivery.deployed(site, good))["status"] == "succeeded"
    return site


async def _refused(delivery: Delivery, site: Site, artifact: str) -> str:
    """Return why the node refused it, and check that nothing of it was stored."""
    before = delivery.releases
    job = await delivery.deployed(site, artifact)
    assert (job["status"], job["error"]["code"]) == ("failed", INVALID), job
    assert (await delivery.visit(site)).text == "good"
    assert delivery.releases == before
    assert not list((delivery.harness.node.data / "downloads").iterdir())
    failed, live = (await delivery.get(f"{site.path}/deployments"))[:2]
    assert (failed["status"], live["status"]) == ("failed", "live")
    return str(job["error"]["message"])


@pytest.mark.parametrize("tampered", [b"", b"another", b"x" * 100_000])
async def test_a_layer_that_was_exchanged_is_refused(delivery: Delivery, tampered: bytes) -> None:
    site = await _served(delivery)
    artifact = await delivery.artifact(site, {"index.html": f"fine until now {len(tampered)}"})
    await delivery.objects.put(blob_name(await delivery.layer(artifact)), tampered)
    assert "layer" in await _refused(delivery, site, artifact)


async def _change(delivery: Delivery, artifact: str, column: str, value: object) -> None:
    await delivery.harness.sql(f"update artifacts set {column} = $2 where id = $1", artifact, value)


async def _value(delivery: Delivery, artifact: str, column: str) -> Any:
    ((value,),) = await delivery.harness.sql(f"select {column} from artifacts where id = $1", artifact)
    return value


async def test_the_envelope_of_another_artifact_is_refused(delivery: Delivery) -> None:
    site = await _served(delivery)
    one = await delivery.artifact(site, {"index.html": "one of two"})
    two = await delivery.artifact(site, {"index.html": "two of two"})
    await _change(delivery, one, "envelope", await _value(delivery, two, "envelope"))
    assert "another artifact" in await _refused(delivery, site, one)


async def test_another_artifact_in_place_of_the_signed_one_is_refused(delivery: Delivery) -> None:
    site = await _served(delivery)
    one = await delivery.artifact(site, {"index.html": "signed"})
    two = await delivery.artifact(site, {"index.html": "smuggled in"})
    manifest = await _value(delivery, two, "manifest")
    layer = await _value(delivery, two, "layer_digest")
    await _change(delivery, one, "manifest", manifest)
    await _change(delivery, one, "layer_digest", layer)
    # The job itself cannot read it: nothing is asked of any node.
    job = await delivery.deployed(site, one)
    assert (job["status"], job["error"]["code"]) == ("failed", INVALID), job
    assert (await delivery.visit(site)).text == "good"


async def test_a_signature_of_somebody_else_is_refused(delivery: Delivery) -> None:
    site = await _served(delivery)
    artifact = await delivery.artifact(site, {"index.html": "signed by a stranger"})
    digest, now = digests.parse(await delivery.digest(artifact)), delivery.started
    about = Provenance(digest, "urn:x", "urn:y", "https://example.com/", "", {}, "build_1", now, now)
    await _change(delivery, artifact, "envelope", provenance.sign(about, Ed25519PrivateKey.generate()))
    assert "no key that is known" in await _refused(delivery, site, artifact)


async def test_a_changed_signature_is_refused(delivery: Delivery) -> None:
    site = await _served(delivery)
    artifact = await delivery.artifact(site, {"index.html": "a broken seal"})
    envelope = bytearray(await _value(delivery, artifact, "envelope"))
    place = envelope.index(b'"payload":"') + 20
    envelope[place] = ord("A") if envelope[place] != ord("A") else ord("B")
    await _change(delivery, artifact, "envelope", bytes(envelope))
    await _refused(delivery, site, artifact)


async def test_a_key_of_the_past_still_counts_and_a_removed_one_does_not(delivery: Delivery) -> None:
    site = await _served(delivery)
    before = await delivery.artifact(site, {"index.html": "signed with the old key"})
    old = await _value(delivery, before, "key_id")
    new = await delivery.steadctl("artifacts", "rotate-key")
    after = await delivery.artifact(site, {"index.html": "signed with the new key"})
    assert await _value(delivery, after, "key_id") == new != old
    for artifact, page in ((before, "signed with the old key"), (after, "signed with the new key")):
        assert (await delivery.deployed(site, artifact))["status"] == "succeeded"
        assert (await delivery.visit(site)).text == page
    # Believed no more although the node has it: a key is removed because somebody else may have it.
    await delivery.steadctl("artifacts", "remove-key", old)
    job = await delivery.deployed(site, before)
    assert (job["status"], job["error"]["code"]) == ("failed", INVALID), job
    assert (await delivery.visit(site)).text == "signed with the new key"
    assert "no such key" in await delivery.steadctl("artifacts", "remove-key", old, code=1)


@pytest.mark.parametrize(
    "lie",
    [
        {"digest": f"sha256:{'0' * 64}"},
        {"size": 1},
        {"diff_id": "nonsense"},
        {"bytes": 10**15},
        {"files": -1},
        {"directories": LAYER.entries},
    ],
    ids=lambda lie: next(iter(lie)),
)
async def test_a_builder_that_lies_is_not_believed(delivery: Delivery, lie: dict[str, Any]) -> None:
    site = await _served(delivery)
    build, _ = await delivery.staged(site, {"index.html": "lies"}, **lie)
    refused = await delivery.refusal(build)
    assert refused.code == INVALID
    ((artifacts,),) = await delivery.harness.sql("select count(*) from artifacts where build_id = $1", build)
    assert artifacts == 0


async def test_a_builder_that_lies_about_the_content_of_its_layer_is_found_out_by_the_node(
    delivery: Delivery,
) -> None:
    site = await _served(delivery)
    build, _ = await delivery.staged(site, {"index.html": "x"}, diff_id=f"sha256:{'1' * 64}")
    await _refused(delivery, site, await delivery.signed(build))


async def test_what_a_builder_reports_about_a_large_layer_is_counted(delivery: Delivery) -> None:
    site = await _served(delivery)
    build, _ = await delivery.staged(site, {"index.html": "said to be large"}, bytes=LAYER.total_bytes)
    artifact = await delivery.signed(build)
    ((counted,),) = await delivery.harness.sql(
        "select max(unpacked_size) from artifact_blobs where artifact_id = $1", artifact
    )
    assert counted > LAYER.total_bytes


async def test_a_builder_that_left_nothing_is_not_believed(delivery: Delivery) -> None:
    site = await _served(delivery)
    build, _ = await delivery.staged(site, {"index.html": "gone"})
    await delivery.objects.delete([staged_object_name(build)])
    assert (await delivery.refusal(build)).code == INVALID
