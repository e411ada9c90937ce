"""Who may run which command through the API."""

import httpx
import pytest

from stead.control.engines.postgres import Tx
from stead.control.jobs.rules import MAX_QUEUED
from stead.shared.ids import new_id
from tests import teams
from tests.client import Client, code_of
from tests.control.exec.samples import insert_wordpress_site
from tests.control.site_driver import read_site, request_deletion
from tests.people import Person

CANARY = "canary-of-a-command"


async def _run(client: Client, site: str, *args: str, program: str = "cms-cli") -> httpx.Response:
    path = f"/v1/sites/{site}/environments/production/exec"
    return await client.post(path, json={"args": list(args), "shell": program})


async def test_a_key_that_operates_the_site_runs_no_code(person: Person):
    site = await insert_wordpress_site(person)
    key = await person.key("cms.cli:exec")
    assert (await _run(key, site, "plugin", "list")).status_code == 202
    for refused in (
        await _run(key, site, "eval", "echo 1;"),
        await _run(key, site, "plugin", "list", "--exec=echo 1;"),
        await _run(key, site, "-c", "id", program="bash"),
        await _run(key, site, "cli", "version", program="bash"),
    ):
        assert refused.status_code == 403
        assert refused.json()["error"]["code"] == "scope.insufficient"
        assert "exec:raw" in refused.json()["error"]["message"]


@pytest.mark.parametrize("scopes", [("*",), ("cms.cli:*",)])
async def test_no_wildcard_includes_code(person: Person, scopes: tuple[str, ...]):
    site = await insert_wordpress_site(person)
    refused = await _run(await person.key(*scopes), site, "eval", "echo 1;")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope.insufficient")


async def test_a_key_with_the_scope_and_a_session_run_anything(person: Person):
    site = await insert_wordpress_site(person)
    for client in (await person.key("cms.cli:exec", "exec:raw"), person.session):
        assert (await _run(client, site, "eval", "echo 1;")).status_code == 202
        assert (await _run(client, site, "-c", "id", program="bash")).status_code == 202


async def test_arguments_are_not_stored_in_clear_text(person: Person):
    site = await insert_wordpress_site(person)
    queued = await _run(person.session, site, "user", "update", "1", f"--user_pass={CANARY}")
    async with person.transaction() as tx:
        stored = await tx.value("select jobs::text from jobs where id = $1", queued.json()["data"]["id"])
    assert CANARY not in stored


async def test_a_suspended_environment_runs_nothing(person: Person):
    site = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        await tx.run("update environments set status = 'suspended' where site_id = $1", site)
    refused = await _run(person.session, site, "cli", "version")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "environment.busy")


async def test_commands_do_not_delay_the_deletion_of_their_site(person: Person):
    site = await insert_wordpress_site(person)
    running, *waiting = [
        (await _run(person.session, site, "cli", "version")).json()["data"]["id"] for _ in range(MAX_QUEUED)
    ]
    domain = (await read_site(person.session, site))["domain"]
    async with person.transaction() as tx:
        await tx.run("update jobs set status = 'running', dispatched_at = $2 where id = $1", running, tx.now)
    waiting.append((await _run(person.session, site, "cli", "version")).json()["data"]["id"])
    assert code_of(await _run(person.session, site, "cli", "version")) == "quota.jobs"
    deletion = await request_deletion(person.session, site, domain)
    assert deletion.status_code == 202, deletion.text
    async with person.transaction() as tx:
        assert await _list_unfinished(tx, site) == [(running, True), (deletion.json()["data"]["id"], False)]
        codes = await tx.all(str, "select error ->> 'code' from jobs where id = any($1)", waiting)
    assert codes == ["job.cancelled"] * MAX_QUEUED


@pytest.mark.parametrize(("method", "action"), [("POST", "/suspend"), ("DELETE", "")])
async def test_only_commands_in_the_environment_are_cancelled(person: Person, method: str, action: str):
    site = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        staging = await teams.insert_environment(tx, site)
    path = f"/v1/sites/{site}/environments/{staging}"
    elsewhere = (await _run(person.session, site, "cli", "version")).json()["data"]["id"]
    assert (await person.session.post(f"{path}/exec", json={"args": ["help"]})).status_code == 202
    changed = await person.session.request(method, f"{path}{action}")
    assert changed.status_code == 202, changed.text
    async with person.transaction() as tx:
        expected = [(elsewhere, False), (changed.json()["data"]["id"], False)]
        assert await _list_unfinished(tx, site) == expected


async def _list_unfinished(tx: Tx, site: str) -> list[tuple[str, bool]]:
    """Each job, and whether it was asked to end."""
    return await tx.all(
        lambda *row: row,
        "select id, cancel_requested_at is not null from jobs"
        " where site_id = $1 and status in ('queued', 'running') order by id",
        site,
    )


@pytest.mark.parametrize("args", [[], [""] * 65, ["x" * 16_385], ["x" * 16_000] * 9, "cli version", [1]])
async def test_a_malformed_command_is_refused(person: Person, args: object):
    site = await insert_wordpress_site(person)
    path = f"/v1/sites/{site}/environments/production/exec"
    refused = await person.session.post(path, json={"args": args})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "request.field_invalid")


async def test_a_site_of_somebody_else_is_not_found(person: Person, stranger: Person):
    site = await insert_wordpress_site(person)
    refused = await _run(stranger.session, site, "cli", "version")
    assert refused.status_code == 404
    assert (await _run(person.session, new_id("site"), "cli", "version")).status_code == 404
