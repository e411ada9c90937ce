"""A process that is told to stop finishes what it began, and then is gone."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from stead.dev.engine import Engine
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from tests.faults.processes import ApiProcess, eventually
from tests.faults.world import World
from tests.people import Person

IN_FLIGHT = 8
EXIT_BOUND = 5.0
LONGEST = 10.0
"""How long a request in flight may delay the end."""

USED = "select last_used_at is not null from api_keys where id = $1"
BLOCKED = (
    "select count(*) from pg_stat_activity where application_name = 'stead' and wait_event_type = 'Lock'"
)
ENDED = (0, -signal.SIGTERM)


@asynccontextmanager
async def held(world: World, keys: list[str]) -> AsyncIterator[None]:
    """Rows that nobody else can change meanwhile."""
    async with world.connection() as connection, connection.transaction():
        await connection.fetch("select id from api_keys where id = any($1) for update", keys)
        yield


async def keys_of(person: Person) -> list[str]:
    for _ in range(IN_FLIGHT):
        await person.secret()
    return [key["id"] for key in (await person.session.get("/v1/api-keys")).json()["data"]]


async def begin_changes(
    world: World, api: ApiProcess, secret: str, keys: list[str]
) -> list[asyncio.Task[httpx.Response]]:
    """Requests that have reached the database and wait there."""
    client = api.as_(secret)
    begun = [
        asyncio.create_task(client.patch(f"/v1/api-keys/{key}", json={"name": "changed"})) for key in keys
    ]

    async def all_wait() -> bool:
        return int(await world.value(BLOCKED)) == len(keys)

    await eventually(all_wait, within=5, what="every request waits for its row")
    return begun


async def refuses_newcomers(api: ApiProcess) -> bool:
    try:
        await api.website("/healthz")
    except httpx.TransportError:
        return True
    return False


async def test_requests_in_flight_are_answered_before_the_end(world: World):
    api = await world.api()
    person = await world.person(api)
    keys = await keys_of(person)
    secret = await person.secret()
    async with held(world, keys):
        begun = await begin_changes(world, api, secret, keys)
        api.terminate()
        await eventually(lambda: refuses_newcomers(api), within=2, what="no new connections")
        assert api.is_alive()
    answers = await asyncio.gather(*begun)
    assert [answer.status_code for answer in answers] == [200] * IN_FLIGHT
    assert await api.exit_code(within=EXIT_BOUND) in ENDED
    assert await world.value("select bool_and(name = 'changed') from api_keys where id = any($1)", keys)


async def test_the_last_use_of_a_credential_is_written_down_at_the_end(world: World):
    api = await world.api()
    person = await world.person(api)
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["account:read"]})
    key = minted.json()["data"]
    assert (await api.as_(key["secret"]).get("/v1/account")).status_code == 200
    api.terminate()
    assert await api.exit_code(within=EXIT_BOUND) in ENDED
    assert await world.value(USED, key["id"])


async def test_idle_connections_do_not_delay_the_end(world: World):
    api = await world.api()
    person = await world.person(api)
    await asyncio.gather(*[person.session.get("/v1/account") for _ in range(IN_FLIGHT)])
    api.terminate()
    assert await api.exit_code(within=EXIT_BOUND) in ENDED


async def test_a_request_that_never_ends_delays_the_end_only_so_long(world: World):
    api = await world.api()
    person = await world.person(api)
    keys = await keys_of(person)
    secret = await person.secret()
    async with held(world, keys[:1]):
        begun = await begin_changes(world, api, secret, keys[:1])
        api.terminate()
        assert await api.exit_code(within=LONGEST + EXIT_BOUND) in ENDED
    await asyncio.gather(*begun, return_exceptions=True)
    assert not await world.value("select bool_or(name = 'changed') from api_keys where id = any($1)", keys)


@pytest.mark.parametrize("engine", [Redis, Postgres])
async def test_an_absent_engine_does_not_delay_the_end(world: World, engine: type[Engine]):
    api = await world.api()
    person = await world.person(api)
    assert (await person.session.get("/v1/account")).status_code == 200
    async with world.without(engine):
        api.terminate()
        assert await api.exit_code(within=EXIT_BOUND) in ENDED
