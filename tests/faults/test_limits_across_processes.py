"""However many processes serve them, a credential and an account get what their plan says and no more."""

import asyncio
import time

import httpx
import pytest

from tests.faults.processes import ApiProcess
from tests.faults.world import World
from tests.people import Person

PROCESSES = 4
SECONDS = 3.0
OWN = 60
CEILING = 90


@pytest.fixture(scope="module")
async def four(world: World) -> list[ApiProcess]:
    await world.plan("few", read=OWN, ceiling=100_000)
    await world.plan("crowded", read=100_000, ceiling=CEILING)
    return await world.apis(PROCESSES)


class Tally:
    """Answers by status, counted from before the first request was sent until after the last was answered."""

    def __init__(self) -> None:
        self.ok = self.refused = 0
        self._began = time.monotonic()

    def most(self, limit: int) -> float:
        """What a bucket of this many a minute allows by now: all it held at first, and its refill."""
        return limit + (time.monotonic() - self._began) * limit / 60


async def hammer(url: str, secret: str, tally: Tally) -> None:
    until = time.monotonic() + SECONDS
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {secret}"}) as client:
        # A slow machine may need longer until most requests are refused.
        while time.monotonic() < until or tally.refused <= tally.ok:
            answer = await client.get("/v1/account")
            if answer.status_code == 200:
                tally.ok += 1
                continue
            assert answer.status_code == 429
            assert answer.json()["error"]["code"] == "rate_limit.exceeded"
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.headers["x-ratelimit-remaining"] == "0"
            tally.refused += 1


async def test_one_key_gets_its_bucket_from_four_processes_together(world: World, four: list[ApiProcess]):
    person: Person = await world.person(four[0], plan="few")
    secret, tally = await person.secret(), Tally()
    await asyncio.gather(*[hammer(process.url, secret, tally) for process in four * 2])
    assert OWN <= tally.ok <= tally.most(OWN)
    assert tally.refused > tally.ok


async def test_many_keys_of_one_account_share_its_ceiling(world: World, four: list[ApiProcess]):
    person: Person = await world.person(four[0], plan="crowded")
    secrets, tally = [await person.secret() for _ in range(4)], Tally()
    await asyncio.gather(*[hammer(process.url, secret, tally) for process in four for secret in secrets[:2]])
    await asyncio.gather(*[hammer(process.url, secret, tally) for process in four for secret in secrets[2:]])
    assert CEILING <= tally.ok <= tally.most(CEILING)
    assert tally.refused > tally.ok
