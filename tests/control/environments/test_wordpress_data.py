"""What a node is told about the files and rows of a WordPress environment, and where it can be."""

from typing import Any

import pytest

from stead.control.environments.workflows import creation, datasets, suspension
from stead.control.jobs.definition import CommandBuilder, NodeCommand, Refused
from stead.protocol.work.hosting import DiscardDataset, EnsureEnvironment, PrepareDataset
from tests.control.environments.conftest import NODE, HostedSite


@pytest.fixture
async def wordpress(site: HostedSite) -> HostedSite:
    """A WordPress site, which is installed."""
    await site.driver.execute(
        "update sites set runtime = 'cms', profile = 'vanilla', php_version = '8.2' where id = $1", site.id
    )
    await site.driver.execute(
        "insert into wordpress_sites (site_id, title, admin_user, admin_email, admin_password)"
        " values ($1, 'Blog', 'admin', 'admin@example.com', '\\x00')",
        site.id,
    )
    return site


async def _command(site: HostedSite, job: str, build: CommandBuilder) -> NodeCommand:
    row = await site.driver.job_row(job)
    workflow = site.driver.plane.context.workflows.of(row)
    async with site.driver.plane.database.transaction() as tx:
        command = await build(tx, workflow.read(row))
    assert isinstance(command, NodeCommand)
    return command


async def _request(site: HostedSite, path: str = "", **body: Any) -> str:
    response = await site.request("POST", path, body or None)
    assert response.status_code == 202, response.text
    return str(response.json()["data"]["id"])


async def test_a_clone_is_a_copy_of_production_with_its_own_host_and_without_a_password(
    wordpress: HostedSite,
) -> None:
    job = await _request(wordpress, type="staging", copy_uploads=True)
    await wordpress.driver.run_first_step(job)
    env = (await wordpress.list_ids())[0]
    command = await _command(wordpress, job, datasets.prepare_copy)
    work = command.work
    assert isinstance(work, PrepareDataset)
    assert (command.node, command.environment, command.driver) == (NODE, env, "live")
    assert (work.uploads, work.dataset) == (True, job[-14:])
    production = await wordpress.request("GET", "/production")
    assert work.source == production.json()["data"]["id"]
    assert set(work.hosts) == {wordpress.domain, production.json()["data"]["subdomain"]}
    assert work.wordpress is not None
    assert work.wordpress.url == f"https://{await wordpress.column(env, 'subdomain')}"
    assert (work.wordpress.admin_password, work.wordpress.environment_type) == ("", "staging")
    served = (await _command(wordpress, job, creation._ensure_environment)).work
    assert isinstance(served, EnsureEnvironment)
    assert (served.dataset, served.wordpress) == (work.dataset, work.wordpress)


async def test_a_refresh_copies_what_the_environment_has_and_a_reset_installs(
    wordpress: HostedSite,
) -> None:
    env = await wordpress.create_environment(type="branch", branch="redesign")
    job = await _request(wordpress, f"/{env}/refresh")
    copied = (await _command(wordpress, job, datasets.prepare_copy)).work
    assert isinstance(copied, PrepareDataset)
    assert (copied.uploads, bool(copied.source)) == (None, True)
    assert (await _command(wordpress, job, datasets.discard)).work == DiscardDataset("cms", job[-14:])
    await wordpress.driver.run_job(job)
    job = await _request(wordpress, f"/{env}/reset")
    installed = (await _command(wordpress, job, datasets.prepare_installation)).work
    assert isinstance(installed, PrepareDataset)
    assert (installed.source, installed.hosts) == ("", ())
    await wordpress.driver.run_job(job)
    await wordpress.complete("POST", f"/{env}/suspend")
    job = await _request(wordpress, f"/{env}/resume")
    resumed = (await _command(wordpress, job, suspension._ensure_environment)).work
    assert isinstance(resumed, EnsureEnvironment)
    assert (resumed.dataset, resumed.wordpress is not None) == ("", True)


@pytest.mark.parametrize("mode", ["files", "db", "full"])
async def test_a_push_makes_a_dataset_of_production_from_the_environment(
    wordpress: HostedSite, mode: str
) -> None:
    env = await wordpress.create_environment(type="staging")
    job = await _request(wordpress, f"/{env}/push", mode=mode)
    production = (await wordpress.read("production"))["id"]
    command = await _command(wordpress, job, datasets.prepare_push)
    work = command.work
    assert isinstance(work, PrepareDataset)
    assert (command.environment, work.source, work.push) == (production, env, mode)
    assert work.hosts == (await wordpress.column(env, "subdomain"),)
    assert work.wordpress is not None
    assert work.wordpress.environment_type == "production"
    served = await _command(wordpress, job, datasets.serve_push)
    assert isinstance(served.work, EnsureEnvironment)
    assert (served.environment, served.work.dataset, served.work.push) == (production, job[-14:], mode)
    undone = await _command(wordpress, job, datasets.discard_push)
    assert (undone.environment, undone.work) == (production, DiscardDataset("cms", job[-14:]))
    await wordpress.driver.run_job(job)
    assert (await wordpress.result_events(env))[-1] == "env.pushed"


async def _shown_databases(site: HostedSite) -> dict[str, str]:
    """The schemas that the credentials name, by environment."""
    response = await site.person.session.get(f"/v1/sites/{site.id}/credentials")
    assert response.status_code == 200, response.text
    shown = response.json()["data"]["environments"]
    return {each["env_id"]: each["database"]["name"] for each in shown}


async def test_the_credentials_name_the_schema_that_each_environment_uses_now(wordpress: HostedSite) -> None:
    production = (await wordpress.read("production"))["id"]
    env = await wordpress.create_environment(type="staging")
    databases = await _shown_databases(wordpress)
    assert databases[production] == production
    assert databases[env].startswith(f"{env}_")
    for action, body, changed in (
        ("refresh", {}, env),
        ("reset", {}, env),
        ("push", {"mode": "files"}, None),
        ("push", {"mode": "db"}, production),
        ("push", {"mode": "full"}, production),
    ):
        job = await _request(wordpress, f"/{env}/{action}", **body)
        assert await _shown_databases(wordpress) == databases
        await wordpress.driver.run_job(job)
        if changed is not None:
            databases[changed] = f"{changed}_{job[-14:]}"
        assert await _shown_databases(wordpress) == databases, (action, body)


async def test_the_credentials_name_the_schema_from_before_if_a_job_fails(wordpress: HostedSite) -> None:
    env = await wordpress.create_environment(type="staging")
    databases = await _shown_databases(wordpress)
    await wordpress.fail("POST", f"/{env}/refresh")
    await wordpress.fail("POST", f"/{env}/push", {"mode": "full"})
    assert await _shown_databases(wordpress) == databases


async def test_an_environment_on_another_node_is_not_pushed(wordpress: HostedSite, other_node: str) -> None:
    env = await wordpress.create_environment(type="staging")
    job = await _request(wordpress, f"/{env}/push", mode="db")
    await wordpress.driver.execute("update environments set node_id = $2 where id = $1", env, other_node)
    with pytest.raises(Refused) as refused:
        await _command(wordpress, job, datasets.prepare_push)
    assert refused.value.code == "node.unavailable"


async def test_a_copy_is_refused_when_the_node_of_production_has_no_room(
    wordpress: HostedSite, other_node: str
) -> None:
    await wordpress.driver.execute("update nodes set draining = true where id = $1", NODE)
    try:
        job = await _request(wordpress, type="staging")
        # Also if no other node has room.
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                await wordpress.driver.run_first_step(job)
            assert refused.value.code == "node.unavailable"
            assert "on the node of production" in str(refused.value)
            assert "Destroy an environment" in str(refused.value)
            await wordpress.driver.execute("update nodes set draining = true where id = $1", other_node)
            # It waits a while for a node that may still be heard.
            await wordpress.driver.execute(
                "update jobs set dispatched_at = created_at - interval '1 hour' where id = $1", job
            )
    finally:
        await wordpress.driver.execute("update nodes set draining = false where id = $1", NODE)


async def test_a_static_site_has_no_data_to_copy(site: HostedSite) -> None:
    job = await _request(site, type="staging", copy_uploads=True)
    await site.driver.run_first_step(job)
    row = await site.driver.job_row(job)
    async with site.driver.plane.database.transaction() as tx:
        assert await datasets.prepare_copy(tx, site.driver.plane.context.workflows.of(row).read(row)) is None
