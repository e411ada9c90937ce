"""Rolling a key gives it a new secret and the old one a day; revoking ends both at once."""

import asyncio
from datetime import timedelta
from typing import Any

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"
DAY = timedelta(hours=24)


async def mint(client: Client, *scopes: str, **wanted: object) -> dict[str, Any]:
    minted = await client.post(KEYS, json={"scopes": list(scopes or ("account:read",)), **wanted})
    assert minted.status_code == 201, minted.text
    return dict(minted.json()["data"])


async def roll(client: Client, key: dict[str, Any]) -> dict[str, Any]:
    rolled = await client.post(f"{KEYS}/{key['id']}/roll")
    assert rolled.status_code == 200, rolled.text
    return dict(rolled.json()["data"])


async def works(anonymous: Client, secret: str) -> bool:
    return (await anonymous.as_(secret).get("/v1/account")).status_code == 200


async def refusal(anonymous: Client, secret: str) -> tuple[int, str]:
    answer = await anonymous.as_(secret).get("/v1/account")
    return answer.status_code, code_of(answer)


async def test_a_rolled_key_answers_with_the_promised_fields(person: Person):
    key = await mint(person.session, "account:read", name="CI")
    rolled = await roll(person.session, key)
    assert set(rolled) == {"id", "name", "secret", "prefix", "last4", "scopes", "created_at"}
    assert (rolled["id"], rolled["name"], rolled["scopes"]) == (key["id"], "CI", ["account:read"])
    assert rolled["secret"] != key["secret"]
    assert rolled["last4"] == rolled["secret"][-4:]
    read = (await person.session.get(f"{KEYS}/{key['id']}")).json()["data"]
    assert read["last4"] == rolled["last4"]
    assert (read["expires_at"][:19], read["revoked_at"]) == (key["expires_at"][:19], None)


async def test_the_old_secret_works_for_24_hours_and_the_new_one_goes_on(
    person: Person, anonymous: Client, clock: MovableClock
):
    key = await mint(person.session)
    assert await works(anonymous, key["secret"])
    rolled = await roll(person.session, key)
    assert await works(anonymous, key["secret"])
    assert await works(anonymous, rolled["secret"])
    clock.move(DAY - timedelta(minutes=1))
    assert await works(anonymous, key["secret"])
    clock.move(timedelta(minutes=2))
    assert await refusal(anonymous, key["secret"]) == (401, "auth.expired")
    assert await works(anonymous, rolled["secret"])


async def test_a_second_roll_drops_the_oldest_secret_at_once(person: Person, anonymous: Client):
    key = await mint(person.session)
    first = await roll(person.session, key)
    assert await works(anonymous, key["secret"])
    second = await roll(person.session, key)
    assert (await refusal(anonymous, key["secret"]))[0] == 401
    assert await works(anonymous, first["secret"])
    assert await works(anonymous, second["secret"])


async def test_a_second_roll_restarts_the_day_of_the_secret_before_it(
    person: Person, anonymous: Client, clock: MovableClock
):
    key = await mint(person.session, expires_in_days=30)
    clock.move(timedelta(hours=1))
    first = await roll(person.session, key)
    clock.move(timedelta(hours=10))
    await roll(person.session, key)
    clock.move(timedelta(hours=23))
    later = await person.key()
    assert await works(anonymous, first["secret"])
    clock.move(timedelta(hours=2))
    assert await refusal(anonymous, first["secret"]) == (401, "auth.expired")
    assert (await later.get(KEYS)).status_code == 200


async def test_rolling_does_not_outlive_the_keys_own_expiry(
    person: Person, anonymous: Client, clock: MovableClock
):
    key = await mint(person.session, expires_in_days=1)
    rolled = await roll(person.session, key)
    clock.move(timedelta(days=1, minutes=1))
    assert await refusal(anonymous, rolled["secret"]) == (401, "auth.expired")
    assert await refusal(anonymous, key["secret"]) == (401, "auth.expired")


async def test_many_rolls_at_once_leave_two_secrets(person: Person, plane: ControlPlane, anonymous: Client):
    key = await mint(person.session)
    rolled = await asyncio.gather(*[roll(person.session, key) for _ in range(6)])
    secrets = [key["secret"], *[each["secret"] for each in rolled]]
    assert sum([await works(anonymous, secret) for secret in secrets]) == 2
    async with plane.database.reading() as tx:
        left = await tx.value("select count(*) from api_key_secrets where key_id = $1", key["id"])
        current = await tx.value("select last4 from api_keys where id = $1", key["id"])
    assert left == 2
    assert current in {each["last4"] for each in rolled}


async def test_a_narrower_key_cannot_roll_a_broader_one(person: Person, anonymous: Client):
    broad = await mint(person.session, "*")
    isolated = await mint(person.session, "exec:raw")
    for narrow in (await person.key("keys:write"), await person.key("keys:write", "sites:*")):
        for key, missing in ((broad, "*"), (isolated, "exec:raw")):
            refused = await narrow.post(f"{KEYS}/{key['id']}/roll")
            assert (refused.status_code, code_of(refused)) == (403, "scope.insufficient")
            assert f"the scope {missing}," in refused.json()["error"]["message"]
    assert await works(anonymous, broad["secret"])
    assert (await person.session.get(f"{KEYS}/{broad['id']}")).json()["data"]["last4"] == broad["last4"]


async def test_a_key_can_roll_itself_and_its_equals(person: Person, anonymous: Client):
    key = await mint(person.session, "keys:write", "account:read")
    itself = await roll(anonymous.as_(key["secret"]), key)
    equal = await mint(anonymous.as_(itself["secret"]), "account:read")
    assert await works(anonymous, (await roll(anonymous.as_(itself["secret"]), equal))["secret"])


async def test_a_key_with_an_allowlist_cannot_roll_one_that_reaches_further(person: Person, from_address):
    secret = await person.secret("keys:write", "account:read", ip_allowlist=["203.0.113.0/24"])
    inside = from_address("203.0.113.9", secret)
    for allowlist in (
        [],
        ["198.51.100.1"],
        ["203.0.112.0/23"],
        ["2001:db8::/32"],
        ["203.0.113.1", "0.0.0.0/0"],
    ):
        free = await mint(person.session, "account:read", ip_allowlist=allowlist)
        refused = await inside.post(f"{KEYS}/{free['id']}/roll")
        assert (refused.status_code, code_of(refused)) == (403, "key.reaches_further")
        assert (await person.session.get(f"{KEYS}/{free['id']}")).json()["data"]["last4"] == free["last4"]
    within = await mint(person.session, "account:read", ip_allowlist=["203.0.113.128/25"])
    assert (await roll(inside, within))["id"] == within["id"]


async def test_revoking_ends_both_secrets_on_the_next_request(person: Person, anonymous: Client):
    key = await mint(person.session)
    rolled = await roll(person.session, key)
    assert await works(anonymous, key["secret"])
    assert await works(anonymous, rolled["secret"])
    revoked = await person.session.delete(f"{KEYS}/{key['id']}")
    assert (revoked.status_code, revoked.content) == (204, b"")
    assert await refusal(anonymous, key["secret"]) == (401, "auth.revoked")
    assert await refusal(anonymous, rolled["secret"]) == (401, "auth.revoked")
    assert code_of(await anonymous.as_(key["secret"]).get("/v1/rate-limits")) == "auth.revoked"


async def test_revoking_again_changes_nothing(person: Person, clock: MovableClock):
    key = await mint(person.session)
    await person.session.delete(f"{KEYS}/{key['id']}")
    first = (await person.session.get(f"{KEYS}/{key['id']}")).json()["data"]
    assert first["revoked_at"] is not None
    clock.move(timedelta(hours=1))
    assert (await person.session.delete(f"{KEYS}/{key['id']}")).status_code == 204
    assert (await person.session.get(f"{KEYS}/{key['id']}")).json()["data"] == first


async def test_a_revoked_key_is_final(person: Person, anonymous: Client):
    key = await mint(person.session)
    await person.session.delete(f"{KEYS}/{key['id']}")
    for attempt in (
        await person.session.post(f"{KEYS}/{key['id']}/roll"),
        await person.session.patch(f"{KEYS}/{key['id']}", json={"name": "back"}),
    ):
        assert (attempt.status_code, code_of(attempt)) == (409, "key.revoked")
    assert await refusal(anonymous, key["secret"]) == (401, "auth.revoked")


async def test_a_key_can_revoke_itself(person: Person, anonymous: Client):
    key = await mint(person.session, "keys:write")
    itself = anonymous.as_(key["secret"])
    assert (await itself.delete(f"{KEYS}/{key['id']}")).status_code == 204
    assert code_of(await itself.get(KEYS)) == "auth.revoked"


async def test_a_key_revoked_amid_traffic_lets_nothing_more_through(person: Person, anonymous: Client):
    """Whatever began after the revocation was answered is refused, in every interleaving."""
    key = await mint(person.session)
    client = anonymous.as_(key["secret"])
    before = [asyncio.create_task(client.get("/v1/account")) for _ in range(20)]
    revoked = await person.session.delete(f"{KEYS}/{key['id']}")
    after = await asyncio.gather(*[client.get("/v1/account") for _ in range(20)])
    assert revoked.status_code == 204
    assert {answer.status_code for answer in await asyncio.gather(*before)} <= {200, 401}
    assert {code_of(answer) for answer in after} == {"auth.revoked"}


async def test_rolling_while_it_is_revoked_brings_no_key_back(person: Person, anonymous: Client):
    for _ in range(5):
        key = await mint(person.session)
        rolled, revoked = await asyncio.gather(
            person.session.post(f"{KEYS}/{key['id']}/roll"), person.session.delete(f"{KEYS}/{key['id']}")
        )
        assert revoked.status_code == 204
        assert rolled.status_code in (200, 409)
        if rolled.status_code == 200:
            assert not await works(anonymous, rolled.json()["data"]["secret"])
        assert not await works(anonymous, key["secret"])
