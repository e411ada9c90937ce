"""Without Redis everything works but the counting; with it back, counting goes on by itself."""

import asyncio
import time

import pytest

from stead.dev.engines.redis import Redis
from tests.client import Client, code_of
from tests.faults.processes import ApiProcess, eventually
from tests.faults.world import World
from tests.patience import slowdown
from tests.people import PASSWORD

UNENFORCED = "stead_limits_unenforced_total"
BOUND = 1.5
"""On an idle machine."""
SMALL = 5


@pytest.fixture(scope="module", autouse=True)
async def small_plan(world: World) -> None:
    await world.plan("small", read=SMALL, ceiling=1000)


@pytest.fixture(scope="module")
async def api(world: World) -> ApiProcess:
    return await world.api()


async def key_of_a_small_plan(world: World, api: ApiProcess) -> Client:
    return api.as_(await (await world.person(api, plan="small")).secret())


async def slowest_of(number: int, client: Client) -> float:
    """The longest that one of these requests took; each of them must succeed."""
    slowest = 0.0
    for _ in range(number):
        began = time.monotonic()
        answer = await client.get("/v1/account")
        slowest = max(slowest, time.monotonic() - began)
        assert code_of(answer) == "200"
    return slowest


async def is_limited(client: Client) -> bool:
    answers = [code_of(await client.get("/v1/account")) for _ in range(SMALL + 1)]
    return answers[-1] == "rate_limit.exceeded"


async def test_requests_go_on_uncounted_which_is_measured_and_said_once(world: World):
    api = await world.api()
    person = await world.person(api)
    client = await key_of_a_small_plan(world, api)
    async with world.without(Redis):
        before = await api.metric(UNENFORCED)
        assert await slowest_of(10 * SMALL, client) < BOUND * slowdown()
        assert await api.metric(UNENFORCED) - before == 10 * SMALL
        signed_in = await api.anonymous.post(
            "/v1/sessions", json={"email": person.account.email, "password": PASSWORD}
        )
        assert signed_in.status_code == 201
        minted = await person.session.post("/v1/api-keys", json={"scopes": ["account:read"]})
        assert minted.status_code == 201
        ready = await api.website("/readyz")
        assert ready.status_code == 200
        assert ready.json()["engines"] == {"postgresql": True, "redis": False, "nats": True}
        assert len(api.events("limits.unenforced")) == 1


async def test_limits_hold_again_once_redis_is_back(world: World, api: ApiProcess):
    client = await key_of_a_small_plan(world, api)
    async with world.without(Redis, crash=True):
        assert not await is_limited(client)
    await api.until_ready()
    assert await is_limited(client)


async def test_a_redis_that_hangs_slows_no_request_beyond_its_bound(world: World, api: ApiProcess):
    client = await key_of_a_small_plan(world, api)
    await client.get("/v1/account")
    async with world.frozen(Redis):
        assert await slowest_of(2 * SMALL, client) < BOUND * slowdown()
        crowd = await asyncio.gather(*[slowest_of(SMALL, client) for _ in range(8)])
        assert max(crowd) < BOUND * slowdown()
    await api.until_ready()
    fresh = await key_of_a_small_plan(world, api)

    async def limited() -> bool:
        return await is_limited(fresh)

    await eventually(limited, within=10, what="limits are enforced again")


async def test_a_redis_that_refuses_to_write_counts_as_none(world: World, api: ApiProcess):
    """Out of memory, or demoted to a replica: it answers, but with errors."""
    client = await key_of_a_small_plan(world, api)
    await client.get("/v1/account")
    before = await api.metric(UNENFORCED)
    assert await world.redis("CONFIG SET maxmemory 1") == ["+OK"]
    try:
        assert await slowest_of(2 * SMALL, client) < BOUND * slowdown()
        assert await api.metric(UNENFORCED) - before == 2 * SMALL
    finally:
        assert await world.redis("CONFIG SET maxmemory 0") == ["+OK"]


async def test_a_revocation_succeeds_while_redis_refuses_to_write(world: World, api: ApiProcess):
    person = await world.person(api)
    key = (await person.session.post("/v1/api-keys", json={"scopes": ["account:read"]})).json()["data"]
    bearer = api.as_(key["secret"])
    assert code_of(await bearer.get("/v1/account")) == "200"
    assert await world.redis("CONFIG SET maxmemory 1") == ["+OK"]
    try:
        assert code_of(await person.session.delete(f"/v1/api-keys/{key['id']}")) == "204"
        assert code_of(await bearer.get("/v1/account")) == "auth.revoked"
    finally:
        assert await world.redis("CONFIG SET maxmemory 0") == ["+OK"]
    assert code_of(await bearer.get("/v1/account")) == "auth.revoked"


async def test_a_redis_that_turns_us_away_does_not_gather_our_connections(world: World):
    api = await world.api()
    client = await key_of_a_small_plan(world, api)
    assert await world.redis("CONFIG SET requirepass unknown-to-the-api") == ["+OK"]
    try:
        # Whoever is connected keeps its rights: only a new connection meets the password.
        await world.redis("AUTH unknown-to-the-api", "CLIENT KILL TYPE normal SKIPME yes")
        await asyncio.sleep(3)
        assert await slowest_of(2 * SMALL, client) < BOUND * slowdown()
        counted = await world.redis("AUTH unknown-to-the-api", "INFO clients")
        connected = next(line for line in counted if line.startswith("connected_clients:"))
        assert int(connected.partition(":")[2]) <= 1 + 2
    finally:
        await world.redis("AUTH unknown-to-the-api", f"CONFIG SET requirepass {world.redis_password}")
    await api.until_ready()
