"""Closing an account: what ends at once, what is kept for thirty days, and what is erased then."""

import asyncio
from datetime import timedelta

import pytest

from stead.control.accounts import closing, closing_store, store
from stead.control.accounts.rules import CLOSED_KEPT
from stead.control.app import ControlPlane
from stead.control.sites import service as sites
from stead.shared.clock import MovableClock
from stead.shared.ids import SessionId, new_id
from stead.shared.roles import Role
from stead.shared.secrets import mint
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.accounts.conftest import Mailbox
from tests.control.environments.conftest import create_hosted_site
from tests.people import PASSWORD, Person
from tests.teams import found_team, insert_member, insert_site

ACCOUNT = "/v1/account"


async def _close(client: Client, password: str = PASSWORD):
    return await client.request("DELETE", ACCOUNT, json={"current_password": password})


async def _sign_in(visitor: Client, email: str) -> str:
    return code_of(await visitor.post("/v1/sessions", json={"email": email, "password": PASSWORD}))


async def test_a_closed_account_has_no_credentials_and_nobody_can_sign_in(
    person: Person, visitor: Client, mailbox: Mailbox
):
    key = await person.key()
    closed = await _close(person.session)
    assert closed.status_code == 200, closed.text
    assert closed.json()["data"]["sites"] == 0
    for client in (person.session, key):
        refused = await client.get(ACCOUNT)
        assert (refused.status_code, code_of(refused)) == (401, "auth.revoked")
    assert await _sign_in(visitor, person.account.email) == "auth.sign_in_refused"
    (letter,) = await mailbox.letters(person.account.email)
    assert "closed" in letter.subject


async def test_a_credential_that_was_created_while_the_account_was_closed_does_not_work(
    plane: ControlPlane, person: Person, visitor: Client, clock: MovableClock
):
    """As if its row had been added just after all others were revoked."""
    key, secret = await person.key(), mint("stead_session")
    assert (await _close(person.session)).status_code == 200
    async with plane.database.transaction() as tx:
        await store.insert_session(tx, person.id, SessionId(new_id("sess")), secret.hash)
        await tx.run("update api_keys set revoked_at = null where account_id = $1", person.id)
    await plane.invalidator.publish_pending()
    for client in (visitor.as_(secret.text), key):
        refused = await client.get(ACCOUNT)
        assert (refused.status_code, code_of(refused)) == (401, "auth.revoked")
    clock.move(CLOSED_KEPT + timedelta(minutes=1))
    await closing.erase_all(plane.database)
    async with plane.database.reading() as tx:
        left = "select count(*) from api_keys where account_id = $1 and revoked_at is null"
        assert await tx.value(left, person.id) == 0


@pytest.mark.parametrize("granted", ["account:read", "account:write", "*"])
async def test_closing_needs_the_scope_and_the_password(person: Person, granted: str):
    key = await person.key(granted)
    answer = await _close(key, "a wrong password")
    expected = "account.password_incorrect" if granted == "*" else "scope.insufficient"
    assert (answer.status_code, code_of(answer)) == (403, expected)
    assert (await person.session.get(ACCOUNT)).status_code == 200


async def test_only_what_was_done_after_the_password_was_checked_is_recorded(
    plane: ControlPlane, person: Person, monkeypatch: pytest.MonkeyPatch
):
    async def recorded() -> list[str]:
        async with plane.database.reading() as tx:
            outcomes = "select outcome from audit_events where actor_user_id = $1 and event = $2 order by id"
            return await tx.all(str, outcomes, person.id, "account_close")

    async def fail(*_: object) -> None:
        raise OSError("the database is gone")

    assert (await _close(person.session, "a wrong password")).status_code == 403
    assert await recorded() == ["denied"]
    with monkeypatch.context() as broken:
        broken.setattr(closing_store, "close", fail)
        assert (await _close(person.session)).status_code == 503
    assert await recorded() == ["denied"]
    assert (await _close(person.session)).status_code == 200
    assert await recorded() == ["denied", "success"]


async def test_passwords_cannot_be_guessed_by_closing(person: Person):
    answers = await asyncio.gather(*(_close(person.session, f"guess {number}") for number in range(9)))
    codes = [code_of(answer) for answer in answers]
    assert set(codes) == {"account.password_incorrect", "rate_limit.exceeded"}
    assert (await person.session.get(ACCOUNT)).status_code == 200


async def test_the_last_owner_of_a_team_cannot_close_their_account(
    person: Person, stranger: Person, plane: ControlPlane
):
    team = await found_team(person)
    refused = await _close(person.session)
    assert (refused.status_code, code_of(refused)) == (409, "team.last_owner")
    assert (await person.session.get(ACCOUNT)).status_code == 200, "nothing has changed"
    async with plane.database.transaction() as tx:
        await insert_member(tx, team, stranger.id, Role.OWNER)
        site = await insert_site(tx, team=team)
    assert (await _close(person.session)).status_code == 200
    members = (await stranger.session.get(f"/v1/teams/{team}/members")).json()["data"]
    assert [each["client_id"] for each in members] == [stranger.id]
    assert (await stranger.session.get(f"/v1/sites/{site}")).json()["data"]["status"] == "running"


async def test_the_sites_of_a_closed_account_are_deleted_and_recovered_after_it_is_opened_again(
    plane: ControlPlane, person: Person, stranger: Person, visitor: Client
):
    mine, theirs = await create_hosted_site(plane, person), await create_hosted_site(plane, stranger)
    assert (await _close(person.session)).json()["data"]["sites"] == 1
    async with plane.database.transaction() as tx:
        # Other tests have closed accounts, too. It ends because each site has a job then.
        while await sites.delete_of_closed_accounts(tx):
            pass
        job = await tx.value("select id from jobs where site_id = $1", mine.id)
        assert await tx.value("select count(*) from jobs where site_id = $1", theirs.id) == 0
    assert await mine.driver.run_job(job) == "deleted"

    async with plane.database.transaction() as tx:
        assert await closing_store.reopen(tx, person.id)
    session = await visitor.post("/v1/sessions", json={"email": person.account.email, "password": PASSWORD})
    again = visitor.as_(session.json()["data"]["token"])
    recovered = await again.post(f"/v1/sites/{mine.id}/recover")
    assert recovered.status_code == 202, recovered.text
    assert await mine.driver.run_job(recovered.json()["data"]["id"]) == "running"


async def test_a_closed_account_is_erased_after_thirty_days_and_its_address_is_free(
    plane: ControlPlane, person: Person, visitor: Client, mailbox: Mailbox, clock: MovableClock, row_of
):
    async with plane.database.transaction() as tx:
        site = await insert_site(tx, account=person.id)
    assert (await _close(person.session)).status_code == 200
    clock.move(CLOSED_KEPT - timedelta(minutes=1))
    await closing.erase_all(plane.database)
    assert await row_of(person.id, "erased_at") is None
    clock.move(timedelta(minutes=2))
    await closing.erase_all(plane.database)
    assert await row_of(person.id, "erased_at") is None, "it has a site that is not deleted yet"
    async with plane.database.transaction() as tx:
        await tx.run("update sites set status = 'deleted' where id = $1", site)
    await closing.erase_all(plane.database)

    assert await row_of(person.id, "erased_at") is not None
    assert person.account.email not in str(
        [await row_of(person.id, column) for column in ("email", "name", "billing_cc_email")]
    )
    async with plane.database.transaction() as tx:
        assert await tx.value("select count(*) from sessions where account_id = $1", person.id) == 0
        assert not await closing_store.reopen(tx, person.id)
    new = {"email": person.account.email, "password": PASSWORD, "name": "Grace"}
    assert (await visitor.post("/v1/accounts", json=new)).status_code == 201
    token = await mailbox.token(person.account.email)
    confirmation = {"token": token, "password": PASSWORD}
    assert (await visitor.post("/v1/accounts/verify-email", json=confirmation)).status_code == 204


async def test_accounts_that_are_erased_together_share_one_hash(
    plane: ControlPlane, new_person: NewPerson, clock: MovableClock, row_of
):
    """Hashes are slow."""
    people = [await new_person() for _ in range(3)]
    for person in people:
        assert (await _close(person.session)).status_code == 200
    clock.move(CLOSED_KEPT + timedelta(minutes=1))
    await closing.erase_all(plane.database)
    assert len({await row_of(person.id, "password_hash") for person in people}) == 1
