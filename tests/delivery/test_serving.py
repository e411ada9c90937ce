"""What visitors can read of a deployment, and what they cannot."""

import asyncio
import shutil
from collections.abc import Callable

from stead.control.artifacts.rules import blob_name
from tests.conftest import FIGURE
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.programs import until


async def _shown(delivery: Delivery, site: Site) -> str:
    answer = await delivery.visit(site)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_what_is_deployed_is_served_and_what_was_before_can_be_had_again(
    delivery: Delivery, record_property: Callable[[str, object], None]
) -> None:
    site = await delivery.site()
    assert "first deployment" in await _shown(delivery, site)
    one = await delivery.artifact(site, {"index.html": "one", "deep/page.html": "a page"})
    job = await delivery.deployed(site, one)
    assert job["status"] == "succeeded", job["error"]
    assert job["result"] == {
        "deployment_id": job["resource"]["id"],
        "release_id": job["resource"]["id"],
        "artifact_id": one,
        "digest": await delivery.digest(one),
        "env_id": site.env,
        "url": f"https://{site.domain}/",
    }
    first = await delivery.visit(site)
    assert first.text == "one"
    assert (await delivery.visit(site, "/deep/page")).text == "a page"
    two = await delivery.artifact(site, {"index.html": "two"})
    assert (await delivery.deployed(site, two))["status"] == "succeeded"
    second = await delivery.visit(site, if_none_match=first.headers["etag"])
    assert (second.status_code, second.text) == (200, "two"), "a browser's copy of the old page is not fresh"
    assert (await delivery.visit(site, "/deep/page")).status_code == 404
    path = f"{site.path}/deployments/{job['resource']['id']}/rollback"
    back = await delivery.ended("POST", path)
    assert (back["type"], back["status"]) == ("deployment.rollback", "succeeded"), back["error"]
    assert await _shown(delivery, site) == "one"
    newest, middle, oldest = await delivery.get(f"{site.path}/deployments")
    assert [each["status"] for each in (newest, middle, oldest)] == ["live", "superseded", "superseded"]
    assert (newest["kind"], newest["from_deployment_id"]) == ("rollback", oldest["id"])
    assert (newest["digest"], newest["artifact_id"]) == (oldest["digest"], oldest["artifact_id"])
    assert newest["current_since"]
    assert middle["current_since"] is None
    releases = await delivery.get(f"{site.path}/releases")
    assert [each["current"] for each in releases] == [True, False, False]
    assert [each["id"] for each in releases] == [newest["id"], middle["id"], oldest["id"]]
    took = (
        "select extract(epoch from finished_at - created_at)::float from jobs where id = any($1) order by id"
    )
    times = await delivery.harness.sql(took, [job["id"], back["id"]])
    first, again = (seconds for (seconds,) in times)
    record_property(FIGURE, f"delivery: a deployment took {first:.2f} s, a rollback {again:.2f} s")


async def test_what_does_not_answer_is_never_shown(delivery: Delivery) -> None:
    site = await delivery.site()
    good = await delivery.artifact(site, {"index.html": "good"})
    assert (await delivery.deployed(site, good))["status"] == "succeeded"
    bad = await delivery.artifact(site, {"other.html": "no front page"})
    deploying = asyncio.create_task(delivery.deployed(site, bad))
    while not deploying.done():
        assert await _shown(delivery, site) == "good"
    job = await deploying
    assert job["error"]["code"] == "deploy.unhealthy"
    assert "404" in job["error"]["message"]
    failed, live = await delivery.get(f"{site.path}/deployments")
    assert (failed["status"], failed["reason"]) == ("failed", job["error"]["message"])
    assert live["status"] == "live"
    assert [each["id"] for each in await delivery.get(f"{site.path}/releases")] == [live["id"]]
    refused = await delivery.harness.client.post(f"{site.path}/deployments/{failed['id']}/rollback")
    assert refused.json()["error"]["code"] == "deployment.never_live"


async def test_a_visitor_cannot_ask_for_another_release(delivery: Delivery) -> None:
    site = await delivery.site()
    shown = await delivery.artifact(site, {"index.html": "shown"})
    other = await delivery.artifact(site, {"index.html": "kept"})
    for artifact in (other, shown):
        assert (await delivery.deployed(site, artifact))["status"] == "succeeded"
    wanted = (await delivery.digest(other)).removeprefix("sha256:")
    assert wanted in delivery.releases
    assert (await delivery.visit(site, x_stead_release=wanted)).text == "shown"


async def test_promotion_shows_exactly_what_the_other_environment_shows(delivery: Delivery) -> None:
    site = await delivery.site()
    staging = await delivery.staging(site)
    artifact = await delivery.artifact(site, {"index.html": "tried on staging"})
    nothing = await delivery.harness.client.post(f"{staging.path}/promote", json={"to_env": "production"})
    assert nothing.json()["error"]["code"] == "deployment.nothing_live"
    # A deployment is probed under the environment's own name, which nobody has announced yet.
    await delivery.ended("POST", f"/v1/sites/{site.id}/restart")
    assert (await delivery.deployed(staging, artifact))["status"] == "succeeded"
    assert await _shown(delivery, staging) == "tried on staging"
    job = await delivery.ended("POST", f"{staging.path}/promote", {"to_env": "production"})
    assert (job["type"], job["status"]) == ("deployment.promote", "succeeded"), job["error"]
    assert job["result"]["digest"] == await delivery.digest(artifact)
    assert await _shown(delivery, site) == "tried on staging"
    itself = await delivery.harness.client.post(f"{site.path}/promote", json={"to_env": "production"})
    assert (itself.status_code, itself.json()["error"]["param"]) == (400, "to_env")


async def test_a_node_that_lost_its_disk_gets_the_release_again(delivery: Delivery) -> None:
    site = await delivery.site()
    artifact = await delivery.artifact(site, {"index.html": "still here"})
    assert (await delivery.deployed(site, artifact))["status"] == "succeeded"
    name = (await delivery.digest(artifact)).removeprefix("sha256:")
    data = delivery.harness.node.data
    shutil.rmtree(data / "releases" / name)
    shutil.rmtree(data / "environments" / site.env)

    async def noticed() -> bool:
        return (await delivery.visit(site)).status_code >= 400

    # Visitors have noticed, so nginx believes that it is not there.
    await until(noticed, "nginx has let go of it")
    job = await delivery.ended("POST", f"/v1/sites/{site.id}/restart")
    assert job["status"] == "succeeded", job["error"]
    assert await _shown(delivery, site) == "still here"


async def test_two_artifacts_with_the_same_files_share_their_layer(delivery: Delivery) -> None:
    site, other = await delivery.site(), await delivery.site()
    files = {"index.html": "the same everywhere"}
    one, two = await delivery.artifact(site, files), await delivery.artifact(other, files)
    assert one != two
    assert await delivery.layer(one) == await delivery.layer(two)
    assert await delivery.artifact(site, files) == one, "the same content from the same origin is the same"
    assert await delivery.objects.size(blob_name(await delivery.layer(one))) > 0
