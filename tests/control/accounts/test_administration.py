"""`steadctl accounts`: what operators see and change."""

import asyncio

import msgspec
import pytest
from typer.testing import CliRunner, Result

from stead.control.accounts.administration import set_suspension
from stead.control.app import ControlPlane
from stead.control.edge_feed import announcements
from stead.control.settings import Settings
from stead.protocol.edge_records import EnvironmentRecord
from stead.steadctl import app
from tests.client import Client, code_of
from tests.control.environments.conftest import create_hosted_site
from tests.people import PASSWORD, Person
from tests.teams import found_team


@pytest.fixture
def steadctl(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> "Steadctl":
    for field in msgspec.structs.fields(Settings):
        value = getattr(settings, field.name)
        if value != field.default:
            monkeypatch.setenv(f"STEAD_{field.name.upper()}", str(value))
    return Steadctl()


class Steadctl:
    """Each command has an event loop of its own, so it runs in a thread."""

    async def __call__(self, *words: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, app, ["accounts", *words])


async def test_accounts_are_listed_and_shown_with_what_they_have(
    plane: ControlPlane, person: Person, steadctl: Steadctl
):
    site, team = await create_hosted_site(plane, person), await found_team(person)
    listed = await steadctl("list", person.account.email)
    assert listed.exit_code == 0, listed.output
    (line,) = listed.output.splitlines()[1:]
    assert line.split()[0] == person.id
    assert "open" in line
    for name in (person.id, person.account.email.upper()):
        shown = await steadctl("show", name)
        assert shown.exit_code == 0, shown.output
        assert all(
            text in shown.output for text in (person.account.email, "verified", site.id, site.domain, team)
        )
    assert PASSWORD not in shown.output
    unknown = await steadctl("show", "nobody@example.com")
    assert (unknown.exit_code, "there is no account" in unknown.output) == (1, True)


async def test_a_suspended_account_is_refused_and_its_sites_answer_no_visitors(
    plane: ControlPlane, person: Person, visitor: Client, steadctl: Steadctl
):
    site = await create_hosted_site(plane, person)
    key = await person.key()
    assert (await key.get("/v1/account")).status_code == 200
    assert (await steadctl("suspend", person.id)).exit_code == 2, "without a reason"
    async with plane.database.transaction() as tx:
        assert await set_suspension(tx, person.account.email, "It sends spam.") == person.id
    await plane.invalidator.publish_pending()
    for client in (key, person.session):
        refused = await client.get("/v1/account")
        assert (refused.status_code, code_of(refused)) == (401, "auth.account_suspended")
    body = {"email": person.account.email, "password": PASSWORD}
    assert code_of(await visitor.post("/v1/sessions", json=body)) == "auth.account_suspended"
    wrong = await visitor.post("/v1/sessions", json={**body, "password": "a wrong password"})
    assert code_of(wrong) == "auth.sign_in_refused"
    assert await _state(plane, site.id) == {"suspended"}
    assert "It sends spam." in (await steadctl("show", person.id)).output

    async with plane.database.transaction() as tx:
        await set_suspension(tx, person.id, None)
    await plane.invalidator.publish_pending()
    assert (await key.get("/v1/account")).status_code == 200
    assert await _state(plane, site.id) == {"serving"}


async def _state(plane: ControlPlane, site: str) -> set[str]:
    async with plane.database.transaction() as tx:
        announcement = await announcements.serve_site(tx, site)
    assert announcement is not None
    return {record.state for record in announcement.records.values() if isinstance(record, EnvironmentRecord)}


async def test_an_operator_resets_a_password_and_changes_a_plan(
    plane: ControlPlane, person: Person, visitor: Client, steadctl: Steadctl
):
    reset = await steadctl("reset-password", person.account.email)
    password = reset.output.strip()
    assert (await person.session.get("/v1/account")).status_code == 401
    body = {"email": person.account.email, "password": password}
    session = await visitor.post("/v1/sessions", json=body)
    assert session.status_code == 201
    again = visitor.as_(session.json()["data"]["token"])

    unknown = await steadctl("plan", person.id, "platinum")
    assert (unknown.exit_code, "use one of" in unknown.output) == (1, True)
    assert (await steadctl("plan", person.id, "pro")).exit_code == 0
    await plane.invalidator.publish_pending()
    assert (await again.get("/v1/account")).json()["data"]["plan"] == "pro"
    trail = (await again.get("/v1/account/audit")).json()["data"]
    assert {"account_password_reset", "account_plan_change"} <= {each["event"] for each in trail}


async def test_a_closed_account_is_opened_again_once(person: Person, visitor: Client, steadctl: Steadctl):
    early = await steadctl("reopen", person.id)
    assert (early.exit_code, "is not closed" in early.output) == (1, True), early
    closed = await person.session.request("DELETE", "/v1/account", json={"current_password": PASSWORD})
    assert closed.status_code == 200, closed.text
    listed = await steadctl("list", person.account.email)
    assert "closed" in listed.output, listed
    reopened = await steadctl("reopen", person.id)
    assert reopened.exit_code == 0, (reopened, reopened.output)
    body = {"email": person.account.email, "password": PASSWORD}
    session = await visitor.post("/v1/sessions", json=body)
    assert session.status_code == 201, session.text
