"""Switching the version of PHP through the API: for which sites, what nodes are asked, and what is shown."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.jobs.definition import NodeCommand, Refused
from stead.protocol.work.hosting import CheckPhp, SwitchPhp
from stead.protocol.work.kinds import Work
from stead.shared.ids import new_id
from tests.client import Client, code_of
from tests.control.exec.samples import insert_wordpress_site
from tests.control.site_driver import SiteDriver, read_site
from tests.enrolled_nodes import record_node
from tests.people import Person
from tests.teams import insert_environment, insert_site

NODE = "node-php"


async def _switch(client: Client, site: str, version: str = "8.4", **more: Any) -> httpx.Response:
    return await client.post(f"/v1/sites/{site}/php-version", json={"version": version, **more})


@pytest.fixture
async def site(person: Person) -> AsyncIterator[str]:
    """With staging, which is suspended, and a branch that has no node yet."""
    id_ = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        await tx.run("update sites set php_version = '8.2' where id = $1", id_)
        await insert_environment(tx, id_, status="suspended")
        await insert_environment(tx, id_, status="deleted", branch="old")
        await tx.run("update environments set node_id = $2 where site_id = $1", id_, NODE)
        await insert_environment(tx, id_, branch="new", status="provisioning")
    yield id_
    async with person.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", id_)


async def _work_of(plane: ControlPlane, job: str, step: str, *, undo: bool = False) -> list[Work]:
    """What a step asks of the node, in order."""
    driver = SiteDriver(plane)
    row = await driver.job_row(job)
    workflow = driver._workflow(row)
    build = workflow.steps[step].undo_command if undo else workflow.steps[step].command
    assert build is not None
    async with plane.database.transaction() as tx:
        built = await build(tx, workflow.read(row))
    assert built is not None
    assert not isinstance(built, NodeCommand)
    assert {command.node for command in built} <= {NODE}
    return [command.work for command in built]


async def test_only_wordpress_sites_have_a_version(person: Person):
    async with person.transaction() as tx:
        static = await insert_site(tx, account=person.id)
    refused = await _switch(person.session, static)
    assert (refused.status_code, code_of(refused)) == (409, "capability.unsupported")


@pytest.mark.parametrize(
    "body", [{"version": "8.1"}, {"version": "latest"}, {}, {"version": "8.4", "now": True}]
)
async def test_other_versions_and_fields_are_refused(person: Person, body: dict[str, Any]):
    site = await insert_wordpress_site(person)
    refused = await person.session.post(f"/v1/sites/{site}/php-version", json=body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request")


@pytest.mark.parametrize("status", ["provisioning", "deleting", "deleted"])
async def test_a_site_that_is_made_or_deleted_is_not_switched(person: Person, site: str, status: str):
    async with person.transaction() as tx:
        await tx.run("update sites set status = $2 where id = $1", site, status)
    assert code_of(await _switch(person.session, site)) == "site.busy"


async def test_the_new_version_is_shown_when_all_environments_have_it(
    person: Person, plane: ControlPlane, site: str
):
    job = (await _switch(person.session, site)).json()["data"]
    assert (job["type"], job["resource"]["type"]) == ("site.config_apply", "site")
    assert (await read_site(person.session, site))["php_version"] == "8.2"
    await SiteDriver(plane).run_job(job["id"])
    assert (await read_site(person.session, site))["php_version"] == "8.4"
    assert (await person.session.get("/v1/sites")).json()["data"][0]["php_version"] == "8.4"
    assert "site.php_switched" in await SiteDriver(plane).event_types(site)


async def test_every_environment_on_a_node_is_checked_switched_and_restored(
    person: Person, plane: ControlPlane, site: str
):
    job = (await _switch(person.session, site, force=True)).json()["data"]["id"]
    async with person.transaction() as tx:
        hosts = await tx.all(
            str,
            "select subdomain from environments where site_id = $1 and status in ('running', 'suspended')"
            " and node_id is not null order by type <> 'production'",
            site,
        )
    assert len(hosts) == 2
    checks = [CheckPhp("cms", "8.4", host, force=True) for host in hosts]
    assert await _work_of(plane, job, "requirements") == checks
    assert await _work_of(plane, job, "php") == [SwitchPhp("cms", "8.4")] * 2
    assert await _work_of(plane, job, "php", undo=True) == [SwitchPhp("cms", "8.2", restore=True)] * 2


async def _serve(person: Person, site: str, type_: str, *requirements: dict[str, str]) -> None:
    """Let an environment serve a release whose files of Composer require this."""
    async with person.transaction() as tx:
        env = await tx.value("select id from environments where site_id = $1 and type = $2", site, type_)
        artifact = new_id("art")
        await tx.run(
            "insert into artifacts (id, site_id, digest, serve_model, manifest, config, envelope, key_id,"
            " layer_digest, layer_size, created_at, built_at, php)"
            " values ($1, $2, $1, 'container', '', '', '', 'key', 'layer', 1, $3, $3, $4)",
            *(artifact, site, tx.now, list(requirements)),
        )
        await tx.run(
            "insert into deployments (id, site_id, env_id, artifact_id, digest, kind, status, created_at,"
            " deployed_at, current_since) values ($1, $2, $3, $4, $4, 'deploy', 'live', $5, $5, $5)",
            *(new_id("dep"), site, env, artifact, tx.now),
        )


async def test_a_dry_run_describes_the_switch_and_changes_nothing(
    person: Person, plane: ControlPlane, site: str
):
    async with person.transaction() as tx:
        environments = await tx.all(
            str,
            "select id from environments where site_id = $1 and node_id is not null and status <> 'deleted'"
            " order by type <> 'production'",
            site,
        )
    response = await _switch(person.session, site, dry_run=True)
    assert (response.status_code, "location" in response.headers) == (200, False)
    shown = response.json()["data"]
    assert [each["env_id"] for each in shown.pop("environments")] == environments
    assert shown == {
        "from": "8.2",
        "to": "8.4",
        "from_image": "php8.2",
        "to_image": "php8.4",
        "lockfile": None,
        "would_apply": True,
    }
    assert (await person.session.get(f"/v1/jobs?site_id={site}")).json()["data"] == []
    assert (await read_site(person.session, site))["php_version"] == "8.2"
    assert "site.php_switched" not in await SiteDriver(plane).event_types(site)
    key = "twice"
    body = {"version": "8.4", "dry_run": True}
    for _ in range(2):
        again = await person.session.post(
            f"/v1/sites/{site}/php-version", json=body, headers={"idempotency-key": key}
        )
        assert (again.status_code, again.json()["data"]["to"]) == (200, "8.4")
    assert again.headers["idempotent-replayed"] == "true"


async def test_a_version_that_the_lock_file_forbids_is_refused_unless_it_is_forced(person: Person, site: str):
    await _serve(person, site, "production", {"constraint": "^8.1", "package": ""})
    await _serve(
        *(person, site, "staging"),
        {"constraint": "^8.1", "package": ""},
        {"constraint": "~8.2.0 || ~8.3.0", "package": "acme/forms"},
    )
    refused = await _switch(person.session, site)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["code"]) == (400, "invalid_request", "invalid_request")
    assert "acme/forms requires ~8.2.0 || ~8.3.0" in error["message"]
    shown = (await _switch(person.session, site, dry_run=True)).json()["data"]
    forbidding = {"constraint": "~8.2.0 || ~8.3.0", "required_by": "acme/forms", "allows": False}
    own = {"constraint": "^8.1", "required_by": "composer.json", "allows": True}
    assert [each["lockfile"] for each in shown["environments"]] == [own, forbidding]
    assert (shown["lockfile"], shown["would_apply"]) == (forbidding, False)
    forced = (await _switch(person.session, site, dry_run=True, force=True)).json()["data"]
    assert (forced["lockfile"], forced["would_apply"]) == (forbidding, True)
    assert (await _switch(person.session, site, "8.3")).status_code == 202
    assert (await _switch(person.session, site, force=True)).status_code == 202


async def test_a_requirement_that_the_current_version_fails_too_is_no_reason_to_stay(
    person: Person, site: str
):
    await _serve(person, site, "production", {"constraint": "^7.4", "package": ""})
    assert (await _switch(person.session, site, dry_run=True)).json()["data"]["would_apply"]
    assert (await _switch(person.session, site)).status_code == 202


async def test_a_requirement_that_is_not_understood_is_left_to_the_node(person: Person, site: str):
    await _serve(person, site, "production", {"constraint": "whatever", "package": ""})
    shown = (await _switch(person.session, site, dry_run=True)).json()["data"]
    assert (shown["lockfile"], shown["would_apply"]) == (None, True)
    assert (await _switch(person.session, site)).status_code == 202


async def test_nothing_begins_while_a_node_of_the_site_is_lost(
    person: Person, plane: ControlPlane, site: str
):
    job = (await _switch(person.session, site)).json()["data"]["id"]
    async with person.transaction() as tx:
        await tx.run("update nodes set last_seen_at = $2 where id = $1", NODE, tx.now - timedelta(hours=1))
    with pytest.raises(Refused) as refused:
        await _work_of(plane, job, "requirements")
    assert refused.value.code == "node.unavailable"


async def test_a_failure_is_published_and_the_old_version_stays(
    person: Person, plane: ControlPlane, site: str
):
    job = (await _switch(person.session, site)).json()["data"]["id"]
    await SiteDriver(plane).fail_job(job, "php.unhealthy")
    found = (await person.session.get(f"/v1/jobs/{job}")).json()["data"]
    assert (found["status"], found["error"]["code"]) == ("failed", "php.unhealthy")
    assert (await read_site(person.session, site))["php_version"] == "8.2"
    assert "site.php_switch_failed" in await SiteDriver(plane).event_types(site)
