"""An email address counts only when its owner has confirmed it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from stead.control.accounts import service, store
from stead.control.accounts.rules import UNVERIFIED_LIFETIME, VERIFICATION_LIFETIME
from stead.control.app import ControlPlane
from stead.control.outbox.mail_limits import PER_ACCOUNT_AND_RECIPIENT, PER_RECIPIENT
from stead.shared.clock import MovableClock
from stead.shared.ids import SessionId, new_id
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.accounts.conftest import PASSWORD, Mailbox
from tests.people import PASSWORD as THEIR_PASSWORD
from tests.people import Person
from tests.teams import found_team

VERIFY = "/v1/accounts/verify-email"


Unverified = Callable[[str], Awaitable[Client]]


async def test_the_account_exists_once_the_token_in_the_letter_was_used(
    visitor: Client, email: str, mailbox: Mailbox, row_of
):
    body = {"email": email, "password": PASSWORD}
    new = {**body, "name": "Buy pills at https://evil.example"}
    account = (await visitor.post("/v1/accounts", json=new)).json()["data"]["id"]
    assert await row_of(account, "email") is None
    (letter,) = await mailbox.letters(email)
    assert "pills" not in letter.text + letter.subject
    confirmation = {"token": mailbox.token_in(letter), "password": PASSWORD}
    assert (await visitor.post(VERIFY, json=confirmation)).status_code == 204
    assert await row_of(account, "email_verified_at") is not None
    assert code_of(await visitor.post(VERIFY, json=confirmation)) == "verification.not_found"
    session = visitor.as_((await visitor.post("/v1/sessions", json=body)).json()["data"]["token"])
    assert (await session.post("/v1/account/verification")).status_code == 204
    assert len(await mailbox.letters(email)) == 1


async def test_a_sign_up_that_nobody_confirms_is_forgotten_after_a_day(
    visitor: Client, email: str, mailbox: Mailbox, plane: ControlPlane, clock: MovableClock
):
    new = {"email": email, "password": PASSWORD, "name": "Ada"}
    assert (await visitor.post("/v1/accounts", json=new)).status_code == 201
    token = await mailbox.token(email)
    clock.move(VERIFICATION_LIFETIME + timedelta(seconds=1))
    assert code_of(await visitor.post(VERIFY, json={"token": token})) == "verification.not_found"
    async with plane.database.transaction() as tx:
        await service.delete_old_sessions(tx)
        assert await tx.value("select count(*) from sign_ups where email = $1", email) == 0


async def test_only_the_newest_token_works_and_only_for_a_day(
    visitor: Client, email: str, mailbox: Mailbox, clock: MovableClock, unverified: Unverified
):
    session = await unverified(email)
    assert (await session.post("/v1/account/verification")).status_code == 204
    old = await mailbox.token(email)
    clock.move(timedelta(seconds=1))
    assert (await session.post("/v1/account/verification")).status_code == 204
    new = await mailbox.token(email)
    assert code_of(await visitor.post(VERIFY, json={"token": old})) == "verification.not_found"
    clock.move(VERIFICATION_LIFETIME)
    assert code_of(await visitor.post(VERIFY, json={"token": new})) == "verification.not_found"


async def test_a_new_address_counts_when_it_is_confirmed(
    person: Person, visitor: Client, email: str, mailbox: Mailbox
):
    body = {"new_email": email.upper(), "current_password": THEIR_PASSWORD}
    assert (await person.session.patch("/v1/account", json=body)).status_code == 204
    assert (await person.session.get("/v1/account")).json()["data"]["email"] == person.account.email
    assert (await visitor.post(VERIFY, json={"token": await mailbox.token(email)})).status_code == 204
    assert (await person.session.get("/v1/account")).json()["data"]["email"] == email
    (letter,) = await mailbox.letters(person.account.email)
    assert "changed" in letter.subject


async def test_a_new_password_calls_off_a_new_address(
    person: Person, visitor: Client, email: str, mailbox: Mailbox
):
    """Somebody who knew the old password may have asked for it."""
    body = {"new_email": email, "current_password": THEIR_PASSWORD}
    assert (await person.session.patch("/v1/account", json=body)).status_code == 204
    body = {"new_password": "another long password", "current_password": THEIR_PASSWORD}
    assert (await person.session.patch("/v1/account", json=body)).status_code == 204
    token = await mailbox.token(email)
    assert code_of(await visitor.post(VERIFY, json={"token": token})) == "verification.not_found"


async def test_two_accounts_that_want_one_address_at_once_do_not_both_get_it(
    person: Person, stranger: Person, visitor: Client, email: str, mailbox: Mailbox
):
    tokens = []
    for each in (person, stranger):
        body = {"new_email": email, "current_password": THEIR_PASSWORD}
        assert (await each.session.patch("/v1/account", json=body)).status_code == 204
        tokens.append(await mailbox.token(email))
    answers = await asyncio.gather(*(visitor.post(VERIFY, json={"token": each}) for each in tokens))
    assert sorted(code_of(each) for each in answers) == ["204", "account.email_taken"]


async def test_an_address_that_was_taken_meanwhile_is_not_given_to_a_second_account(
    person: Person, visitor: Client, email: str, mailbox: Mailbox, unverified: Unverified
):
    body = {"new_email": email, "current_password": THEIR_PASSWORD}
    assert (await person.session.patch("/v1/account", json=body)).status_code == 204
    token = await mailbox.token(email)
    await unverified(email)
    assert code_of(await visitor.post(VERIFY, json={"token": token})) == "account.email_taken"


async def test_who_signs_up_with_the_address_of_another_cannot_accept_their_invite(
    person: Person, visitor: Client, email: str, mailbox: Mailbox, unverified: Unverified
):
    team = await found_team(person)
    invited = await person.session.post(f"/v1/teams/{team}/invites", json={"role": "admin", "email": email})
    token = {"token": invited.json()["data"]["token"]}
    impostor = await unverified(email)
    assert code_of(await impostor.post("/v1/invites/accept", json=token)) == "account.email_unverified"
    assert (await impostor.post("/v1/account/verification")).status_code == 204
    assert (await visitor.post(VERIFY, json={"token": await mailbox.token(email)})).status_code == 204
    assert (await impostor.post("/v1/invites/accept", json=token)).status_code == 200


async def test_an_account_without_a_verified_address_invites_nobody_by_email(
    email: str, mailbox: Mailbox, unverified: Unverified
):
    session = await unverified(email)
    team = (await session.post("/v1/teams", json={"name": "A Team"})).json()["data"]["team_id"]
    body = {"role": "observer", "email": "grace@example.com"}
    refused = await session.post(f"/v1/teams/{team}/invites", json=body)
    assert (refused.status_code, code_of(refused)) == (403, "account.email_unverified")
    assert await mailbox.letters("grace@example.com") == []
    assert (await session.post(f"/v1/teams/{team}/invites", json={"role": "observer"})).status_code == 201


async def test_email_to_one_address_is_limited_per_sender_and_over_all_senders(
    new_person: NewPerson, mailbox: Mailbox, clock: MovableClock
):
    victim = f"{new_id('victim')}@example.com"
    codes = []
    for _ in range(6):
        person = await new_person()
        team = await found_team(person)
        for _ in range(PER_ACCOUNT_AND_RECIPIENT + 1):
            body = {"role": "observer", "email": victim}
            codes.append(code_of(await person.session.post(f"/v1/teams/{team}/invites", json=body)))
    assert codes[: PER_ACCOUNT_AND_RECIPIENT + 1] == ["201"] * PER_ACCOUNT_AND_RECIPIENT + ["quota.emails"]
    assert codes.count("201") == PER_RECIPIENT == len(await mailbox.letters(victim))
    clock.move(timedelta(days=1, seconds=1))
    late = await new_person()
    body = {"role": "observer", "email": victim}
    assert (
        await late.session.post(f"/v1/teams/{await found_team(late)}/invites", json=body)
    ).status_code == 201


async def test_an_account_sends_only_as_many_emails_a_day_as_its_plan_allows(
    new_person: NewPerson, mailbox: Mailbox, plane: ControlPlane
):
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans (name, label, max_sites, max_environments, max_branches_per_site,"
            " max_concurrent_jobs, max_storage_gb, rate_read, rate_write, rate_create, rate_ceiling,"
            " max_emails_per_day) values ('three-emails', 'For tests', 9, 9, 9, 9, 9, 999, 999, 999, 999, 3)"
            " on conflict do nothing"
        )
    person = await new_person(plan="three-emails")
    team = await found_team(person)
    bodies = [{"role": "observer", "email": f"{new_id('g')}@example.com"} for _ in range(4)]
    codes = [code_of(await person.session.post(f"/v1/teams/{team}/invites", json=each)) for each in bodies]
    assert codes == ["201"] * 3 + ["quota.emails"]


async def _release_addresses(plane: ControlPlane) -> None:
    async with plane.database.transaction() as tx:
        await service.delete_unverified_accounts(tx)


async def test_an_address_that_nobody_confirmed_is_free_again_after_a_week(
    visitor: Client,
    email: str,
    mailbox: Mailbox,
    plane: ControlPlane,
    clock: MovableClock,
    unverified: Unverified,
):
    await unverified(email)
    again = {"email": email, "password": "the password of its owner", "name": "Grace"}
    clock.move(UNVERIFIED_LIFETIME - timedelta(minutes=1))
    await _release_addresses(plane)
    assert (await visitor.post("/v1/accounts", json=again)).status_code == 201
    assert "already" in (await mailbox.letters(email))[-1].subject
    clock.move(timedelta(minutes=2))
    await _release_addresses(plane)
    assert (await visitor.post("/v1/accounts", json=again)).status_code == 201
    confirmation = {"token": await mailbox.token(email), "password": again["password"]}
    assert (await visitor.post(VERIFY, json=confirmation)).status_code == 204


@pytest.mark.parametrize("kept_by", ["a verified address", "a team", "a project", "a key", "a session"])
async def test_an_account_that_is_verified_or_used_is_kept(
    kept_by: str,
    visitor: Client,
    email: str,
    mailbox: Mailbox,
    plane: ControlPlane,
    clock: MovableClock,
    unverified: Unverified,
    row_of,
):
    session = await unverified(email)
    account = (await session.get("/v1/account")).json()["data"]["id"]
    if kept_by == "a verified address":
        assert (await session.post("/v1/account/verification")).status_code == 204
        assert (await visitor.post(VERIFY, json={"token": await mailbox.token(email)})).status_code == 204
    elif kept_by == "a team":
        assert (await session.post("/v1/teams", json={"name": "A Team"})).status_code == 201
    elif kept_by == "a project":
        assert (await session.post("/v1/projects", json={"name": "A Project"})).status_code == 201
    elif kept_by == "a key":
        assert (await session.post("/v1/api-keys", json={"scopes": ["*"]})).status_code == 201
    clock.move(UNVERIFIED_LIFETIME + timedelta(minutes=1))
    if kept_by == "a session":
        signed_in = await visitor.post("/v1/sessions", json={"email": email, "password": PASSWORD})
        assert signed_in.status_code == 201
    await _release_addresses(plane)
    assert await row_of(account, "email") == email


async def test_an_account_that_somebody_signs_in_to_at_that_moment_is_kept(
    email: str, plane: ControlPlane, clock: MovableClock, unverified: Unverified, row_of
):
    session = await unverified(email)
    account = (await session.get("/v1/account")).json()["data"]["id"]
    clock.move(UNVERIFIED_LIFETIME + timedelta(minutes=1))
    async with plane.database.transaction() as signing_in:
        await store.insert_session(signing_in, account, SessionId(new_id("sess")), b"a hash of a secret")
        await _release_addresses(plane)
    async with plane.database.transaction() as tx:
        # As if the session had been added after the account was found to be unused.
        assert await store.delete_unused(tx, [account]) == 0
    assert await row_of(account, "email") == email
