"""Permanent URLs: which deployments have one, what is announced to the edges, and when it ends."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from stead.control.app import ControlPlane
from stead.control.deployments.permanent_urls import KEPT
from stead.control.deployments.rules import name_permanent_host
from stead.control.edge_feed import announcements
from stead.control.environments import service as environments
from stead.protocol import edge_records
from stead.protocol.edge_records import EdgeRecord, HostRecord
from stead.protocol.work.releases import release_of
from stead.shared.ids import EnvironmentId, new_id
from tests import teams
from tests.conftest import NewPerson
from tests.control.environments.conftest import REGION, HostedSite, create_hosted_site
from tests.enrolled_nodes import record_node


@dataclass
class Production:
    site: HostedSite
    env: str

    async def request(self) -> tuple[str, str]:
        """Request a deployment of new content. Returns its job and its release."""
        async with self.site.driver.plane.database.transaction() as tx:
            artifact = await teams.insert_artifact(tx, self.site.id)
            digest = await tx.value("select digest from artifacts where id = $1", artifact)
        response = await self.site.request("POST", "/production/deployments", {"artifact_id": artifact})
        assert response.status_code == 202, response.text
        return response.json()["data"]["id"], release_of(digest)

    async def deploy(self) -> str:
        job, release = await self.request()
        await self.site.driver.run_job(job)
        return release

    async def deployments(self) -> list[dict[str, Any]]:
        found = await self.site.request("GET", "/production/deployments?limit=100")
        return list(found.json()["data"])

    async def urls(self) -> list[str | None]:
        return [each["url"] for each in await self.deployments()]

    def record(self, url: str | None) -> EdgeRecord | None:
        assert url is not None
        return self.site.driver.announced[edge_records.host_key(REGION, urlsplit(url).hostname or "")]


@pytest.fixture
async def production(plane: ControlPlane, new_person: NewPerson) -> Production:
    site = await create_hosted_site(plane, await new_person())
    return Production(site, str((await site.read("production"))["id"]))


def test_a_host_has_the_id_of_its_deployment_and_fits_into_a_label() -> None:
    deployment = new_id("dep")
    host = name_permanent_host(deployment, "example-com-k3f9", "example-com-k3f9-staging.preview.test")
    assert host == f"{deployment.removeprefix('dep_')}--example-com-k3f9.preview.test"
    long = name_permanent_host(deployment, "a" * 34 + "-long-k3f9", "x.preview.test")
    assert long == f"{deployment.removeprefix('dep_')}--{'a' * 34}.preview.test"


async def test_each_deployment_keeps_a_host_that_shows_its_release(production: Production) -> None:
    first, second = await production.deploy(), await production.deploy()
    newer, older = await production.urls()
    assert production.record(older) == HostRecord(production.env, release=first)
    assert production.record(newer) == HostRecord(production.env, release=second)


async def test_the_newest_deployments_have_a_url_and_the_edges_are_told_when_one_ends(
    production: Production,
) -> None:
    await production.deploy()
    (first,) = await production.urls()
    for _ in range(KEPT):
        await production.deploy()
    urls = await production.urls()
    assert [url is not None for url in urls] == [True] * KEPT + [False]
    assert production.record(first) is None
    assert all(isinstance(production.record(url), HostRecord) for url in urls[:KEPT])


async def test_a_failed_deployment_has_no_url(production: Production) -> None:
    await production.deploy()
    job, _ = await production.request()
    row = await production.site.driver.job_row(job)
    workflow = production.site.driver.plane.context.workflows.of(row)
    await production.site.driver.run_first_step(job)
    await production.site.driver.announce(row, workflow.steps["switch"].announce)
    await production.site.driver.undo_job(job)

    failed, live = await production.deployments()
    assert (failed["status"], failed["url"]) == ("failed", None)
    assert live["url"] is not None
    host = await production.site.driver.fetch_value(
        "select permanent_host from deployments where id = $1", failed["id"]
    )
    assert production.record(f"https://{host}/") is None


async def test_all_hosts_of_a_site_are_published_again_and_known(production: Production) -> None:
    await production.deploy()
    await production.deploy()
    async with production.site.driver.plane.database.transaction() as tx:
        announcement = await announcements.serve_site_with_redirects(tx, production.site.id)
    assert announcement is not None
    published = [record for record in announcement.records.values() if isinstance(record, HostRecord)]
    assert len([record for record in published if record.release]) == 2


async def test_an_environment_that_moves_to_another_node_keeps_only_the_url_of_what_it_serves(
    production: Production,
) -> None:
    await production.deploy()
    live = await production.deploy()
    _, older = await production.urls()
    async with production.site.driver.plane.database.transaction() as tx:
        await record_node(tx, "node-2", REGION)
        await environments.set_node(tx, EnvironmentId(production.env), "node-2")
        announcement = await announcements.serve_environment(tx, production.env)
    newer, ended = await production.urls()
    assert (newer is not None, ended) == (True, None)
    assert announcement is not None
    production.site.driver.announced.update(announcement.records)
    assert production.record(older) is None
    assert production.record(newer) == HostRecord(production.env, release=live)


async def test_a_deleted_site_has_no_permanent_hosts_and_a_recovered_one_that_of_its_release(
    production: Production,
) -> None:
    await production.deploy()
    await production.deploy()
    urls = await production.urls()
    site = production.site
    response = await site.client.request(
        "DELETE", f"/v1/sites/{site.id}", json={"confirm_domain": site.domain}
    )
    await site.driver.run_job(response.json()["data"]["id"])
    assert [production.record(url) for url in urls] == [None, None]
    response = await site.client.post(f"/v1/sites/{site.id}/recover")
    await site.driver.run_job(response.json()["data"]["id"])
    assert await production.urls() == [urls[0], None]
    assert isinstance(production.record(urls[0]), HostRecord)
    assert production.record(urls[1]) is None
