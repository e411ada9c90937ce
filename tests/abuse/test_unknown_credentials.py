"""Somebody who guesses credentials, and a neighbour who has one."""

import asyncio
from collections.abc import Callable

import httpx

from stead.dev.engines.redis import Redis
from stead.shared.secrets import mint
from tests.abuse.neighbour import Neighbour
from tests.faults.processes import ApiProcess
from tests.faults.world import World

LIMIT = 30
GUESSES = 800
AT_ONCE = 8

Figure = Callable[[str, str], None]


async def guess(api: ApiProcess, number: int) -> list[int]:
    """The statuses of so many requests, each with another well-formed key that does not exist."""
    statuses: list[int] = []

    async def send(client: httpx.AsyncClient) -> None:
        for _ in range(number // AT_ONCE):
            headers = {"authorization": f"Bearer {mint('stead_live').text}"}
            statuses.append((await client.get("/v1/account", headers=headers)).status_code)

    async with httpx.AsyncClient(base_url=api.url, timeout=30) as client:
        await asyncio.gather(*(send(client) for _ in range(AT_ONCE)))
    return statuses


async def test_unknown_credentials_are_limited_per_address(world: World, record_property: Figure):
    api = await world.api(STEAD_UNKNOWN_CREDENTIALS_PER_MINUTE=str(LIMIT))
    person = await world.person(api)
    client = api.as_(await person.secret())

    async def read_account() -> None:
        assert (await client.get("/v1/account")).status_code == 200

    neighbour = Neighbour(read_account)
    await neighbour.live_alone(50)
    async with neighbour.living_beside():
        statuses = await guess(api, GUESSES)
        await neighbour.send_at_least(20)
    record_property(
        "figure", neighbour.figure(f"{GUESSES} guessed keys, of which {statuses.count(401)} were looked up")
    )
    assert set(statuses) == {401, 429}
    assert LIMIT <= statuses.count(401) <= 4 * LIMIT
    assert await api.metric("stead_unknown_credentials_total") == statuses.count(401)
    assert max(neighbour.attacked) < 10


async def test_unknown_credentials_are_limited_without_redis(world: World):
    api = await world.api(STEAD_UNKNOWN_CREDENTIALS_PER_MINUTE=str(LIMIT))
    person = await world.person(api)
    async with world.without(Redis):
        for _ in range(5):
            assert (await person.session.get("/v1/account")).status_code == 200
        statuses = await guess(api, 200)
        assert statuses.count(429) > 0
        assert statuses.count(401) <= 4 * LIMIT
