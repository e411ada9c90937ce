"""When a key was last used is known soon, and costs no write per request."""

from datetime import datetime, timedelta

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from stead.shared.secrets import digest
from tests.client import Client
from tests.people import Person


async def row(plane: ControlPlane, secret: str) -> tuple[str, str, datetime | None]:
    async with plane.database.reading() as tx:
        found = await tx.one(
            lambda *values: values,
            "select id, xmin::text, last_used_at from api_keys"
            " where id = (select key_id from api_key_secrets where hash = $1)",
            digest(secret),
        )
    assert found is not None
    return found


async def test_a_key_that_was_never_used_says_so(person: Person, plane: ControlPlane):
    secret = await person.secret("account:read")
    await plane.record_use()
    assert (await row(plane, secret))[2] is None


async def test_use_is_recorded_and_shown(person: Person, plane: ControlPlane, anonymous: Client):
    secret = await person.secret("account:read")
    before = (await row(plane, secret))[0]
    assert (await anonymous.as_(secret).get("/v1/account")).status_code == 200
    await plane.record_use()
    shown = (await person.session.get(f"/v1/api-keys/{before}")).json()["data"]["last_used_at"]
    assert abs(datetime.fromisoformat(shown).timestamp() - plane.database._clock().timestamp()) < 60


async def test_requests_do_not_write_the_row(person: Person, plane: ControlPlane, anonymous: Client):
    """At most the chore that runs every few seconds may have come by meanwhile."""
    secret = await person.secret("account:read")
    client, versions = anonymous.as_(secret), set()
    for _ in range(30):
        await client.get("/v1/account")
        versions.add((await row(plane, secret))[1])
    assert len(versions) <= 2


async def test_a_refused_request_is_no_use(person: Person, plane: ControlPlane, from_address):
    secret = await person.secret("account:read", ip_allowlist=["203.0.113.7"])
    await from_address("198.51.100.9", secret).get("/v1/account")
    await plane.record_use()
    assert (await row(plane, secret))[2] is None


async def test_recorded_use_never_goes_back(person: Person, plane: ControlPlane, anonymous: Client):
    secret = await person.secret("account:read")
    key = (await row(plane, secret))[0]
    await anonymous.as_(secret).get("/v1/account")
    await plane.record_use()
    latest = (await row(plane, secret))[2]
    plane.authenticator.used["api_key", key] = 1_000_000_000.0
    await plane.record_use()
    assert (await row(plane, secret))[2] == latest


async def test_use_is_recorded_by_the_clock_that_keys_expire_by(
    person: Person, plane: ControlPlane, anonymous: Client, clock: MovableClock
):
    secret = await person.secret("account:read")
    clock.move(timedelta(days=3))
    await anonymous.as_(secret).get("/v1/account")
    await plane.record_use()
    used = (await row(plane, secret))[2]
    assert used is not None
    assert abs(used - clock()) < timedelta(minutes=1)
