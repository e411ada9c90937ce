"""An invite with an address is mailed there: once, after it is true, and never readable on the way."""

import asyncio
from datetime import timedelta

import httpx
import pytest
import structlog
from msgspec.structs import replace

from stead.control.accounts.service import owner_principal
from stead.control.app import ControlPlane
from stead.control.invites import service
from stead.control.invites.schema import NewInvite
from stead.control.outbox.mail import FIRST_RETRY_DELAY, MAX_ATTEMPTS
from stead.control.settings import Settings
from stead.control.tasks import PeriodicTask, TaskRunner
from stead.control.teams import service as teams_service
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests.client import Client, code_of
from tests.control.invites.conftest import Mailing
from tests.control.invites.sink import Sink, mail_sender_of
from tests.matrix.dump import rows_mentioning
from tests.patience import time_limit
from tests.people import make_person
from tests.teams import found_team


class ChangedOnesMind(Exception): ...


async def test_the_mail_arrives_once_and_holds_the_token(mailing: Mailing, sink: Sink):
    ada, grace = await mailing.person(), await mailing.person()
    team = await found_team(ada, "Analytical Engines")
    token = await mailing.invite(ada, team, grace.account.email.upper())
    assert sink.letters == []
    await mail_sender_of(mailing.plane).send_due()
    await mail_sender_of(mailing.plane).send_due()
    [letter] = sink.letters
    assert letter.recipients == [grace.account.email]
    assert token in letter.text
    assert letter.message["to"] == grace.account.email
    assert letter.message["from"] == "post@stead.example"
    assert letter.message["subject"] == f"{ada.account.email} invites you to a team"
    assert "Analytical Engines" not in letter.text
    assert letter.message["message-id"].endswith("@stead.example>")
    accepted = await grace.session.post("/v1/invites/accept", json={"token": token})
    assert accepted.json()["data"] == {"team_id": team, "role": "observer"}


async def test_an_invite_without_an_address_is_not_mailed(mailing: Mailing):
    ada = await mailing.person()
    team = await found_team(ada)
    made = await ada.session.post(f"/v1/teams/{team}/invites", json={"role": "observer"})
    assert made.status_code == 201
    assert await mailing.waiting() == 0


async def test_a_chore_delivers_what_waits(post_office: Settings, sink: Sink, clock: MovableClock):
    plane = ControlPlane(replace(post_office, smtp_url=sink.url), clock=clock)
    anonymous = Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")
    async with plane.running():
        ada = await make_person(plane, anonymous, plan="business")
        team = await found_team(ada)
        body = {"role": "observer", "email": "grace@example.com"}
        assert (await ada.session.post(f"/v1/teams/{team}/invites", json=body)).status_code == 201
        sending = TaskRunner([PeriodicTask("mail.send", 0.1, mail_sender_of(plane).send_due)])
        sending.start()
        async with time_limit(10):
            while not sink.letters or await _waiting(plane):  # noqa: ASYNC110 - it comes from another thread
                await asyncio.sleep(0.05)
        await sending.stop()
    assert len(sink.letters) == 1


async def _waiting(plane: ControlPlane) -> int:
    async with plane.database.reading() as tx:
        return int(await tx.value("select count(*) from outgoing_mail"))


async def test_nothing_is_mailed_before_the_commit_nor_after_a_rollback(mailing: Mailing, sink: Sink):
    ada = await mailing.person()
    team = await found_team(ada)
    principal, plane = owner_principal(ada.account), mailing.plane
    sealer = mail_sender_of(plane)._sealer

    async def invite(email: str) -> None:
        async with plane.database.transaction() as tx:
            visible = await teams_service.find(tx, principal, team)
            await service.create(tx, sealer, visible, principal, NewInvite(Role.OBSERVER, email))
            await mail_sender_of(plane).send_due()
            assert sink.letters == []
            if "regretted" in email:
                raise ChangedOnesMind

    with pytest.raises(ChangedOnesMind):
        await invite("regretted@example.com")
    await invite("kept@example.com")
    await mail_sender_of(plane).send_due()
    [letter] = sink.letters
    assert letter.recipients == ["kept@example.com"]


async def test_a_refused_invite_is_not_mailed(mailing: Mailing):
    ada = await mailing.person()
    team = await found_team(ada)
    past = {"role": "observer", "email": "grace@example.com", "expires_at": "2020-01-01T00:00:00Z"}
    assert code_of(await ada.session.post(f"/v1/teams/{team}/invites", json=past)) == "request.field_invalid"
    assert await mailing.waiting() == 0


async def test_a_replayed_invite_is_mailed_once(mailing: Mailing, sink: Sink):
    ada = await mailing.person()
    team = await found_team(ada)
    body, headers = {"role": "observer", "email": "grace@example.com"}, {"idempotency-key": team}
    for _ in range(2):
        made = await ada.session.post(f"/v1/teams/{team}/invites", json=body, headers=headers)
        assert made.status_code == 201
    await mail_sender_of(mailing.plane).send_due()
    assert len(sink.letters) == 1


async def test_a_server_that_says_later_is_asked_later(mailing: Mailing, sink: Sink, clock: MovableClock):
    ada = await mailing.person()
    await mailing.invite(ada, await found_team(ada), "grace@example.com")
    sink.refusals = ["451 later", "451 later"]
    await mail_sender_of(mailing.plane).send_due()
    await mail_sender_of(mailing.plane).send_due()
    assert (sink.tried, sink.letters) == (1, [])
    clock.move(FIRST_RETRY_DELAY)
    await mail_sender_of(mailing.plane).send_due()
    clock.move(FIRST_RETRY_DELAY)
    await mail_sender_of(mailing.plane).send_due()
    assert (sink.tried, sink.letters) == (2, [])
    clock.move(FIRST_RETRY_DELAY)
    await mail_sender_of(mailing.plane).send_due()
    assert (sink.tried, len(sink.letters), await mailing.waiting()) == (3, 1, 0)


async def test_a_server_that_is_down_is_waited_for(mailing: Mailing, closed_sink: Sink, clock: MovableClock):
    ada = await mailing.person()
    await mailing.invite(ada, await found_team(ada), "grace@example.com")
    await mail_sender_of(mailing.plane).send_due()
    assert await mailing.waiting() == 1
    with closed_sink.open():
        clock.move(FIRST_RETRY_DELAY)
        await mail_sender_of(mailing.plane).send_due()
    assert len(closed_sink.letters) == 1


async def test_a_letter_that_nobody_takes_is_given_up(mailing: Mailing, sink: Sink, clock: MovableClock):
    ada = await mailing.person()
    token = await mailing.invite(ada, await found_team(ada), "grace@example.com")
    sink.refusals = ["451 later"] * 100
    with structlog.testing.capture_logs() as logs:
        for _ in range(MAX_ATTEMPTS + 3):
            await mail_sender_of(mailing.plane).send_due()
            clock.move(timedelta(days=2))
    assert (sink.tried, await mailing.waiting()) == (MAX_ATTEMPTS, 0)
    assert [line["attempt"] for line in logs if line["event"] == "mail.failed"] == list(
        range(1, MAX_ATTEMPTS + 1)
    )
    assert token not in repr(logs)
    assert "grace@example.com" not in repr(logs)


async def test_a_letter_that_fails_does_not_hold_up_the_others(mailing: Mailing, sink: Sink):
    ada = await mailing.person()
    team = await found_team(ada)
    for name in ("first", "second"):
        await mailing.invite(ada, team, f"{name}@example.com")
    sink.refusals = ["451 later"]
    await mail_sender_of(mailing.plane).send_due()
    assert [letter.recipients for letter in sink.letters] == [["second@example.com"]]


@pytest.mark.parametrize("strange", ['!:"@<.com', '"]a>@x<.com', "group:;x@example.com", "eve@example.com\n"])
async def test_an_address_that_no_mail_can_have_does_not_hold_up_the_others(
    strange: str, mailing: Mailing, sink: Sink
):
    """Either such an invite is refused, or its letter fails alone."""
    ada = await mailing.person()
    team = await found_team(ada)
    body = {"role": "observer", "email": strange}
    assert (await ada.session.post(f"/v1/teams/{team}/invites", json=body)).status_code in (201, 400)
    await mailing.invite(ada, team, "grace@example.com")
    await mail_sender_of(mailing.plane).send_due()
    assert ["grace@example.com"] in [letter.recipients for letter in sink.letters]


@pytest.mark.parametrize("address", ["eve,grace@example.com", "eve:grace@example.com", "<grace@example.com>"])
async def test_mail_goes_to_the_invited_address_and_to_no_other(address: str, mailing: Mailing, sink: Sink):
    ada = await mailing.person()
    team = await found_team(ada)
    body = {"role": "observer", "email": address}
    assert (await ada.session.post(f"/v1/teams/{team}/invites", json=body)).status_code in (201, 400)
    await mail_sender_of(mailing.plane).send_due()
    assert [letter.recipients for letter in sink.letters if letter.recipients != [address]] == []


async def test_two_postmen_at_once_deliver_each_letter_once(mailing: Mailing, sink: Sink):
    ada = await mailing.person()
    team = await found_team(ada)
    for number in range(6):
        await mailing.invite(ada, team, f"guest{number}@example.com")
    await asyncio.gather(*(mail_sender_of(mailing.plane).send_due() for _ in range(3)))
    arrived = sorted(letter.recipients[0] for letter in sink.letters)
    assert arrived == [f"guest{number}@example.com" for number in range(6)]


async def test_the_token_stands_nowhere_in_the_database(mailing: Mailing):
    ada = await mailing.person()
    token = await mailing.invite(ada, await found_team(ada), "grace@example.com")
    assert await mailing.waiting() == 1
    assert await rows_mentioning(mailing.plane.database, [token, token.encode().hex()]) == set()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r", "\u2028", "\x0b", "\x0c", "\x1d", "\x85"])
async def test_a_team_name_cannot_inject_a_header(newline: str, mailing: Mailing, sink: Sink):
    ada = await mailing.person()
    name = f"Engines{newline}Bcc: eve@example.com{newline}{newline}a body"
    await mailing.invite(ada, await found_team(ada, name), "grace@example.com")
    await mail_sender_of(mailing.plane).send_due()
    [letter] = sink.letters
    assert letter.recipients == ["grace@example.com"]
    assert letter.message["bcc"] is None
    assert letter.message["subject"] == f"{ada.account.email} invites you to a team"
    assert set(map(str.lower, letter.message.keys())) <= {
        *("from", "to", "subject", "date", "message-id", "mime-version"),
        *("content-type", "content-transfer-encoding"),
    }
