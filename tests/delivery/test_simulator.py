"""With a test key everything except signing is simulated: from a source to a deployment, with real jobs."""

import base64
import json
from pathlib import Path

import httpx
import pytest

from stead.control.artifacts import garbage_collection
from stead.control.artifacts.rules import blob_name
from stead.control.builds import service as builds
from stead.control.builds.rules import staged_object_name
from stead.control.engines.object_store import ObjectMissing
from stead.control.uploads import service as uploads
from stead.control.uploads.rules import object_name
from stead.dev.subprocesses import run
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import PLAN

GIT = "https://user:secret@git.example.com/site.git"
"""New sites with such an address are refused."""


async def _from_git(delivery: Delivery) -> Site:
    """Connected after its first deployment, so that only what is requested is built."""
    site = await delivery.site("test")
    sql = "update sites set git_repo = $2, git_branch = 'main' where id = $1"
    await delivery.harness.sql(sql, site.id, GIT)
    return site


async def _built(delivery: Delivery, site: Site, **body: object) -> dict[str, object]:
    job = await delivery.ended("POST", f"{site.path}/builds", {"builder": "static", **body})
    assert job["status"] == "succeeded", job["error"]
    return dict(job["result"])


async def test_a_build_is_signed_and_deployed_when_that_was_asked_for(delivery: Delivery) -> None:
    site = await _from_git(delivery)
    built = await _built(delivery, site, auto_deploy=True)
    assert built.keys() == {"artifact_id", "build_id", "digest", "commit", "ref", "deployment_id", "url"}
    assert built["url"] == f"https://{site.domain}/"
    build = await delivery.get(f"{site.path}/builds/{built['build_id']}")
    assert (build["status"], build["ref"], build["commit"]) == ("succeeded", "main", built["commit"])
    assert build["message"] == "A simulated commit."
    (deployment,) = await delivery.get(f"{site.path}/deployments")
    assert deployment["id"] == built["deployment_id"]
    await delivery.harness.ended(deployment["job_id"])
    (live,) = await delivery.get(f"{site.path}/releases")
    assert (live["digest"], live["current"]) == (built["digest"], True)
    environment = await delivery.harness.sql("select git_ref from environments where id = $1", site.env)
    assert environment[0]["git_ref"] == "main"
    rows = await delivery.harness.sql(
        "select type, data from events where site_id = $1 and type like any(array['build.%', 'deploy.%'])"
        " order by written",
        site.id,
    )
    assert [row["type"] for row in rows] == [
        *("deploy.completed", "build.started", "build.succeeded", "deploy.started", "deploy.completed")
    ]
    assert rows[-1]["data"]["artifact_id"] == built["artifact_id"]
    kept = await delivery.harness.sql("select * from jobs where site_id = $1", site.id)
    assert "secret@" not in str(kept)


async def test_a_git_managed_site_is_built_deployed_and_rolled_back(delivery: Delivery) -> None:
    site = await delivery.site("test", profile="vanilla")
    sql = "update sites set profile = 'git_managed', git_repo = $2, git_branch = 'main' where id = $1"
    await delivery.harness.sql(sql, site.id, GIT)
    made = []
    for _ in range(2):
        built = await _built(delivery, site, builder="cms")
        job = await delivery.deployed(site, str(built["artifact_id"]))
        assert job["status"] == "succeeded", job["error"]
        made.append(built["artifact_id"])
    assert {each["serve_model"] for each in await delivery.get(f"{site.path}/artifacts")} == {"container"}
    releases = await delivery.get(f"{site.path}/releases")
    assert [each["artifact_id"] for each in releases] == made[::-1]
    former = releases[1]["id"]
    job = await delivery.ended("POST", f"{site.path}/deployments/{former}/rollback")
    assert (job["status"], job["result"]["artifact_id"]) == ("succeeded", made[0])


async def test_a_pinned_commit_is_the_one_that_is_built(delivery: Delivery) -> None:
    site, commit = await _from_git(delivery), "9fceb02d0ae598e95dc970b74767f19372d61af8"
    assert (await _built(delivery, site, commit=commit))["commit"] == commit


async def test_what_was_uploaded_is_built_once_and_then_gone(delivery: Delivery) -> None:
    site = await delivery.site("test")
    upload = await delivery.upload(site, size=10)
    async with httpx.AsyncClient() as client:
        sent = await client.put(upload["url"], content=b"an archive", headers=upload["headers"])
    assert sent.is_success, sent.text
    built = await _built(delivery, site, source=upload["id"])
    build = await delivery.get(f"{site.path}/builds/{built['build_id']}")
    assert build["source"] == upload["id"]
    # The archive is replaced by an empty object once it was built, so that its URL accepts no other.
    assert await delivery.objects.size(object_name(upload["id"])) in (0, 10)
    sql = "update uploads set expires_at = now() - interval '2 hours' where id = $1"
    await delivery.harness.sql(sql, upload["id"])
    assert await uploads.remove_expired(delivery.harness.database, delivery.objects) >= 1
    with pytest.raises(ObjectMissing):
        await delivery.objects.size(object_name(upload["id"]))


async def test_an_address_to_which_nothing_was_sent_is_not_built(delivery: Delivery) -> None:
    site = await delivery.site("test")
    upload = await delivery.upload(site, size=10)
    body = {"builder": "static", "source": upload["id"]}
    job = await delivery.ended("POST", f"{site.path}/builds", body)
    assert (job["status"], job["error"]["code"]) == ("failed", "upload.unusable")
    (build,) = await delivery.get(f"{site.path}/builds")
    assert (build["status"], build["error"]) == ("failed", job["error"]["message"])


async def test_no_node_that_builds_is_said_with_a_way_out(delivery: Delivery) -> None:
    """Real sites need a real builder, and none of these nodes reports one."""
    site = await delivery.site("live")
    body = {"builder": "static", "source": "https://example.com/site.zip"}
    job = await delivery.ended("POST", f"{site.path}/builds", body)
    assert (job["status"], job["error"]["code"]) == ("failed", "build.unavailable")
    assert "us-east" in job["error"]["message"]


async def test_an_exported_artifact_can_be_verified_by_hand(delivery: Delivery, tmp_path: Path) -> None:
    """The verification that docs/artifacts.md describes."""
    site = await _from_git(delivery)
    built = await _built(delivery, site)
    place, artifact = tmp_path / "site", str(built["artifact_id"])
    assert await delivery.steadctl("artifacts", "export", artifact, str(place)) == built["digest"]
    assert artifact in await delivery.steadctl("artifacts", "list")
    seen = await run(["skopeo", "inspect", "--raw", f"oci:{place}"])
    assert seen.code == 0, seen.errors
    manifest = json.loads(seen.output)
    assert (
        manifest["annotations"]["org.opencontainers.image.source"] == "git+https://git.example.com/site.git"
    )
    envelope = json.loads((place / "envelope.json").read_text())
    statement = base64.b64decode(envelope["payload"])
    said = json.loads(statement)
    assert f"sha256:{said['subject'][0]['digest']['sha256']}" == built["digest"]
    assert said["predicate"]["runDetails"]["metadata"]["invocationId"] == built["build_id"]
    assert b"secret" not in statement
    kind = b"application/vnd.in-toto+json"
    (tmp_path / "signed").write_bytes(b"DSSEv1 28 %b %d %b" % (kind, len(statement), statement))
    (tmp_path / "signature").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    words = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(place / "key.pem"), "-rawin"]
    verified = await run([*words, "-in", str(tmp_path / "signed"), "-sigfile", str(tmp_path / "signature")])
    assert verified.code == 0, verified.errors
    again = await delivery.steadctl("artifacts", "export", artifact, str(place), code=1)
    assert "there already" in again


async def test_what_nothing_uses_is_removed_from_the_store_and_what_is_shared_stays(
    delivery: Delivery,
) -> None:
    site = await delivery.site("live")
    gone = await delivery.artifact(site, {"index.html": "nobody wants this"})
    shared = await delivery.artifact(site, {"index.html": "wanted elsewhere"})
    other = await delivery.site("live")
    await delivery.artifact(other, {"index.html": "wanted elsewhere"})
    for number in range(10):
        await delivery.artifact(site, {"index.html": f"newer {number}"})
    old = "update artifacts set built_at = built_at - interval '31 days' where site_id = $1"
    await delivery.harness.sql(old, site.id)
    layers = {each: blob_name(await delivery.layer(each)) for each in (gone, shared)}
    # What was just stored is held for its artifact for a while.
    artifacts, blobs = await garbage_collection.collect_garbage(delivery.harness.database, delivery.objects)
    assert (artifacts, blobs) == (2, 0)
    await delivery.harness.sql("update blobs set held_until = now()")
    assert await delivery.steadctl("artifacts", "collect") == "0 artifacts and 3 blobs were removed"
    with pytest.raises(ObjectMissing):
        await delivery.objects.size(layers[gone])
    assert await delivery.objects.size(layers[shared]) > 0


async def test_what_builders_left_is_removed_a_while_after_their_builds_have_ended(
    delivery: Delivery,
) -> None:
    site = await _from_git(delivery)
    build = str((await _built(delivery, site))["build_id"])
    await builds.remove_staged(delivery.harness.database, delivery.objects)
    assert await delivery.objects.size(staged_object_name(build)) > 0
    await delivery.harness.sql(
        "update builds set finished_at = now() - interval '2 hours' where id = $1", build
    )
    assert await builds.remove_staged(delivery.harness.database, delivery.objects) >= 1
    with pytest.raises(ObjectMissing):
        await delivery.objects.size(staged_object_name(build))


async def test_a_layer_that_the_plan_has_no_room_for_is_not_signed(delivery: Delivery) -> None:
    site, files = await delivery.site("live"), {"index.html": "a little too much"}
    build, _ = await delivery.staged(site, files)
    await delivery.harness.sql(PLAN.format(name="none", jobs=1000))
    await delivery.harness.sql("update plans set max_storage_gb = 0 where name = 'none'")
    await delivery.harness.sql("update accounts set plan = 'none'")
    try:
        assert (await delivery.refusal(build)).code == "quota.storage"
        refused = await delivery.harness.client.post(f"/v1/sites/{site.id}/uploads", json={"size_bytes": 1})
        assert refused.json()["error"]["code"] == "quota.storage"
    finally:
        await delivery.harness.sql("update accounts set plan = 'unlimited'")
    artifact = await delivery.signed(build)
    # What is there already takes no more room.
    again, _ = await delivery.staged(site, files)
    assert await delivery.signed(again) == artifact
