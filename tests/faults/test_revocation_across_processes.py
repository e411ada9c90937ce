"""What one process revokes or narrows, the others refuse at once, whatever happens to Redis meanwhile."""

import asyncio
import time
from typing import Any

import pytest

from stead.dev.engines.redis import Redis
from tests.client import Client, code_of
from tests.faults.processes import ApiProcess, eventually
from tests.faults.world import World
from tests.people import PASSWORD, Person

Two = tuple[ApiProcess, ApiProcess]
SWEPT_WITHIN = 3.0
READING = ["account:read", "keys:read"]


@pytest.fixture(scope="module")
async def person(world: World, two: Two) -> Person:
    return await world.person(two[0])


async def mint(owner: Client, scopes: list[str] = READING) -> dict[str, Any]:
    minted = await owner.post("/v1/api-keys", json={"scopes": scopes})
    assert minted.status_code == 201
    return dict(minted.json()["data"])


async def revoke(owner: Client, key: dict[str, Any]) -> None:
    assert (await owner.delete(f"/v1/api-keys/{key['id']}")).status_code == 204


async def copied_by(processes: Two, secret: str) -> list[Client]:
    """A client of each process, which by now keeps a copy of the credential."""
    clients = [process.as_(secret) for process in processes]
    for client in clients * 3:
        assert (await client.get("/v1/account")).status_code == 200
    return clients


async def codes(clients: list[Client]) -> list[str]:
    return [code_of(await client.get("/v1/account")) for client in clients]


async def redis_is_back(two: Two) -> None:
    for process in two:
        await process.until_ready()


async def test_a_revoked_key_is_refused_by_every_process_on_its_next_request(two: Two, person: Person):
    for _ in range(20):
        key = await mint(person.session)
        one, other = await copied_by(two, key["secret"])
        await revoke(person.session, key)
        assert await codes([other, one]) == ["auth.revoked"] * 2


async def test_after_a_roll_revocation_ends_both_secrets_everywhere(two: Two, person: Person):
    key = await mint(person.session)
    old = await copied_by(two, key["secret"])
    rolled = await person.session.post(f"/v1/api-keys/{key['id']}/roll")
    new = await copied_by(two, rolled.json()["data"]["secret"])
    assert await codes(old) == ["200"] * 2
    await revoke(person.session, key)
    assert await codes([*reversed(old), *reversed(new)]) == ["auth.revoked"] * 4


async def test_a_second_roll_ends_the_oldest_secret_everywhere_at_once(two: Two, person: Person):
    key = await mint(person.session)
    oldest = await copied_by(two, key["secret"])
    for _ in range(2):
        assert (await person.session.post(f"/v1/api-keys/{key['id']}/roll")).status_code == 200
    assert await codes([*reversed(oldest)]) == ["auth.invalid"] * 2


async def test_narrowed_scopes_hold_everywhere_at_once(two: Two, person: Person):
    key = await mint(person.session)
    one, other = await copied_by(two, key["secret"])
    narrowed = await person.session.patch(f"/v1/api-keys/{key['id']}", json={"scopes": ["keys:read"]})
    assert narrowed.status_code == 200
    assert await codes([other, one]) == ["scope.insufficient"] * 2


async def test_a_session_that_signed_out_is_refused_everywhere_at_once(
    world: World, two: Two, person: Person
):
    one, other = await copied_by(two, await world.sign_in(person))
    assert (await one.delete("/v1/sessions/current")).status_code == 204
    assert await codes([other, one]) == ["auth.revoked"] * 2


async def test_a_new_password_ends_every_other_session_everywhere_at_once(world: World, two: Two):
    person = await world.person(two[0])
    one, other = await copied_by(two, await world.sign_in(person))
    change = {"new_password": "another password altogether", "current_password": PASSWORD}
    assert (await person.session.patch("/v1/account", json=change)).status_code == 204
    assert await codes([other, one]) == ["auth.revoked"] * 2
    assert await codes([person.session]) == ["200"]


@pytest.mark.parametrize("settled", [True, False], ids=["reconnected", "reconnecting"])
@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
async def test_a_revocation_after_a_restart_of_redis_is_immediate(
    world: World, two: Two, person: Person, crash: bool, settled: bool
):
    key = await mint(person.session)
    one, other = await copied_by(two, key["secret"])
    await world.restart(Redis, crash=crash)
    if settled:
        await redis_is_back(two)
    await revoke(person.session, key)
    assert await codes([other, one]) == ["auth.revoked"] * 2
    await redis_is_back(two)
    assert await codes([other, one]) == ["auth.revoked"] * 2


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
async def test_a_revocation_without_redis_still_holds_when_redis_is_back(
    world: World, two: Two, person: Person, crash: bool
):
    key = await mint(person.session)
    one, other = await copied_by(two, key["secret"])
    async with world.without(Redis, crash=crash):
        await revoke(person.session, key)
        assert await codes([other, one]) == ["auth.revoked"] * 2
    until = time.monotonic() + 2
    while time.monotonic() < until:
        assert await codes([other, one]) == ["auth.revoked"] * 2
        await asyncio.sleep(0.02)
    await redis_is_back(two)


async def test_a_revocation_while_redis_hangs_is_told_everywhere_soon_after(
    world: World, two: Two, person: Person
):
    """The other process asks nothing meanwhile, so it keeps its connection and its copy."""
    key = await mint(person.session)
    _, other = await copied_by(two, key["secret"])
    async with world.frozen(Redis):
        await revoke(person.session, key)

    async def refused() -> bool:
        return await codes([other]) == ["auth.revoked"]

    await eventually(refused, within=SWEPT_WITHIN, what="the sweep told of the revocation")
    await redis_is_back(two)


async def test_a_revocation_whose_process_died_after_its_commit_is_told_by_another(
    world: World, two: Two, person: Person
):
    """What the dead process left is its transaction: the revoked row and the wish to tell."""
    key = await mint(person.session)
    one, other = await copied_by(two, key["secret"])
    async with world.connection() as connection, connection.transaction():
        await connection.execute("update api_keys set revoked_at = now() where id = $1", key["id"])
        await connection.execute("insert into outdated_subjects (subject) values ($1)", key["id"])

    async def refused() -> bool:
        return await codes([other, one]) == ["auth.revoked"] * 2

    await eventually(refused, within=SWEPT_WITHIN, what="the sweep told of the revocation")

    async def told() -> bool:
        return bool(await world.value("select count(*) = 0 from outdated_subjects"))

    await eventually(told, within=SWEPT_WITHIN, what="nothing is left to tell")
