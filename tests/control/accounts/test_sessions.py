"""Sessions: they slide with use, end at the latest after 30 days, and at once when told to."""

from datetime import datetime, timedelta

import pytest

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from stead.shared.secrets import digest
from tests.client import Client, code_of
from tests.people import PASSWORD, Person

ACCOUNT = "/v1/account"


async def another_session(person: Person, visitor: Client) -> Client:
    answer = await visitor.post("/v1/sessions", json={"email": person.account.email, "password": PASSWORD})
    return visitor.as_(answer.json()["data"]["token"])


async def age(plane: ControlPlane, session: Client, *, created: timedelta, used: timedelta) -> None:
    """Make a session older than it is. It must not have been used yet."""
    token = session.headers["authorization"].removeprefix("Bearer ")
    async with plane.database.transaction() as tx:
        changed = await tx.run(
            "update sessions set created_at = $2, last_used_at = $3 where secret_hash = $1",
            digest(token),
            tx.now - created,
            tx.now - used,
        )
    assert changed == 1


async def test_a_session_says_when_it_ends(person: Person, visitor: Client):
    answer = await visitor.post("/v1/sessions", json={"email": person.account.email, "password": PASSWORD})
    session = answer.json()["data"]
    ends, made = (datetime.fromisoformat(session[name]) for name in ("expires_at", "created_at"))
    assert ends - made == timedelta(hours=12)
    assert session["id"].startswith("sess_")


async def test_a_session_used_within_12_hours_goes_on(person: Person, clock: MovableClock):
    clock.move(timedelta(hours=11, minutes=59))
    assert (await person.session.get(ACCOUNT)).status_code == 200


async def test_a_session_left_alone_for_12_hours_is_over(person: Person, clock: MovableClock):
    clock.move(timedelta(hours=12, minutes=1))
    refused = await person.session.get(ACCOUNT)
    assert (refused.status_code, code_of(refused)) == (401, "auth.expired")


async def test_a_session_slides_with_its_use(person: Person, plane: ControlPlane, clock: MovableClock):
    for _ in range(4):
        clock.move(timedelta(hours=11))
        assert (await person.session.get(ACCOUNT)).status_code == 200
        await plane.record_use()
    clock.move(timedelta(hours=12, minutes=1))
    assert code_of(await person.session.get(ACCOUNT)) == "auth.expired"


async def test_a_copy_that_was_taken_before_a_session_slid_does_not_end_it(
    person: Person, plane: ControlPlane, clock: MovableClock
):
    """A process keeps what it loaded for a minute, but the session may have slid within that minute."""
    token = person.session.headers["authorization"].removeprefix("Bearer ")
    assert (await person.session.get(ACCOUNT)).status_code == 200
    clock.move(timedelta(hours=11, minutes=59, seconds=40))
    assert (await person.session.get(ACCOUNT)).status_code == 200
    async with plane.database.transaction() as tx:
        await tx.run("update sessions set last_used_at = $2 where secret_hash = $1", digest(token), tx.now)
    clock.move(timedelta(seconds=30))
    assert (await person.session.get(ACCOUNT)).status_code == 200


async def test_a_session_that_is_over_does_not_come_back_by_being_tried(
    person: Person, plane: ControlPlane, clock: MovableClock
):
    clock.move(timedelta(hours=13))
    for _ in range(3):
        assert code_of(await person.session.get(ACCOUNT)) == "auth.expired"
        await plane.record_use()


async def test_a_session_ends_after_30_days_however_busy(
    person: Person, plane: ControlPlane, clock: MovableClock
):
    await age(plane, person.session, created=timedelta(days=29, hours=23), used=timedelta())
    assert (await person.session.get(ACCOUNT)).status_code == 200
    await plane.record_use()
    clock.move(timedelta(hours=2))
    assert code_of(await person.session.get(ACCOUNT)) == "auth.expired"


async def test_signing_out_ends_the_session_at_once_and_only_it(person: Person, visitor: Client):
    other, key = await another_session(person, visitor), await person.key("account:read")
    assert (await person.session.get(ACCOUNT)).status_code == 200
    assert (await person.session.delete("/v1/sessions/current")).status_code == 204
    refused = await person.session.get(ACCOUNT)
    assert (refused.status_code, code_of(refused)) == (401, "auth.revoked")
    assert code_of(await person.session.delete("/v1/sessions/current")) == "auth.revoked"
    assert (await other.get(ACCOUNT)).status_code == 200
    assert (await key.get(ACCOUNT)).status_code == 200


async def test_signing_out_with_a_key_ends_nothing(person: Person):
    key = await person.key("account:read")
    assert (await key.delete("/v1/sessions/current")).status_code == 204
    assert (await key.get(ACCOUNT)).status_code == 200
    assert (await person.session.get(ACCOUNT)).status_code == 200


async def test_a_new_password_ends_every_other_session_but_no_key(person: Person, visitor: Client, row_of):
    others = [await another_session(person, visitor) for _ in range(2)]
    key = await person.key("account:read")
    for client in (*others, key, person.session):
        assert (await client.get(ACCOUNT)).status_code == 200
    body = {"new_password": "another long password", "current_password": PASSWORD}
    assert (await person.session.patch(ACCOUNT, json=body)).status_code == 204
    for other in others:
        assert code_of(await other.get(ACCOUNT)) == "auth.revoked"
    assert (await person.session.get(ACCOUNT)).status_code == 200
    assert (await key.get(ACCOUNT)).status_code == 200
    assert str(await row_of(person.id, "password_hash")).startswith("$argon2id$")
    for password, code in ((PASSWORD, "auth.sign_in_refused"), ("another long password", "201")):
        attempt = {"email": person.account.email, "password": password}
        assert code_of(await visitor.post("/v1/sessions", json=attempt)) == code


async def test_a_new_password_set_with_a_key_ends_every_session(person: Person):
    key = await person.key("account:write")
    assert (await person.session.get(ACCOUNT)).status_code == 200
    body = {"new_password": "another long password", "current_password": PASSWORD}
    assert (await key.patch(ACCOUNT, json=body)).status_code == 204
    assert code_of(await person.session.get(ACCOUNT)) == "auth.revoked"
    assert (await key.get(ACCOUNT)).status_code == 200


async def test_strangers_sessions_are_left_alone_by_a_new_password(person: Person, stranger: Person):
    assert (await stranger.session.get(ACCOUNT)).status_code == 200
    body = {"new_password": "another long password", "current_password": PASSWORD}
    assert (await person.session.patch(ACCOUNT, json=body)).status_code == 204
    assert (await stranger.session.get(ACCOUNT)).status_code == 200


@pytest.mark.parametrize("family", ["stead_live_", "stead_test_"])
async def test_a_session_token_is_not_a_key_by_another_name(person: Person, anonymous: Client, family: str):
    token = person.session.headers["authorization"].removeprefix("Bearer ")
    forged = token.replace("stead_session_", family)
    assert code_of(await anonymous.as_(forged).get(ACCOUNT)) == "auth.malformed"
