"""Whoever lost the answer to a POST asks again with its Idempotency-Key: one effect, one answer."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from stead.dev.supervised_program import LOOPBACK
from tests.client import Client, code_of
from tests.faults.processes import ApiProcess
from tests.faults.world import World
from tests.patience import Patience
from tests.people import Person

TRIES = 20
AT_ONCE = 5
CERTAINTY = 5
NAMED = "select id from api_keys where name = $1"


@pytest.fixture(scope="module")
async def survivor(world: World) -> ApiProcess:
    return await world.api()


@pytest.fixture(scope="module")
async def person(world: World, survivor: ApiProcess) -> Person:
    return await world.person(survivor)


@pytest.fixture(scope="module")
async def secret(person: Person) -> str:
    return await person.secret()


async def mint(client: httpx.AsyncClient, name: str) -> httpx.Response:
    new = {"scopes": ["account:read"], "name": name}
    return await client.post("/v1/api-keys", json=new, headers={"Idempotency-Key": name})


async def mint_again(client: Client, name: str) -> httpx.Response:
    """Repeated for as long as the dead process's transaction has not ended."""
    patience = Patience(5)
    while code_of(answer := await mint(client, name)) == "idempotency.in_flight":
        assert not patience.is_over
        await asyncio.sleep(0.02)
    return answer


async def require_one_effect(world: World, survivor: ApiProcess, name: str, answer: httpx.Response) -> None:
    """There is one key of this name, it is the one in the answer, and its secret works."""
    assert answer.status_code == 201
    made: dict[str, Any] = answer.json()["data"]
    async with world.connection() as connection:
        assert [row["id"] for row in await connection.fetch(NAMED, name)] == [made["id"]]
    assert code_of(await survivor.as_(made["secret"]).get("/v1/account")) == "200"


@asynccontextmanager
async def door_that_kills(process: ApiProcess) -> AsyncIterator[str]:
    """An address in front of the process, which dies with the first byte of an answer; nobody gets it."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, onward = await asyncio.open_connection(LOOPBACK, process.port)
        forwarding = asyncio.create_task(_forward(reader, onward))
        assert await inner.read(1)
        process.kill()
        forwarding.cancel()
        writer.close()
        onward.close()

    async with await asyncio.start_server(carry, LOOPBACK) as server:
        yield f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)


async def test_an_answer_lost_with_its_process_is_replayed_by_another(
    world: World, survivor: ApiProcess, secret: str
):
    for number, victim in enumerate(await world.apis(CERTAINTY)):
        name = f"lost {number}"
        async with (
            door_that_kills(victim) as door,
            httpx.AsyncClient(base_url=door, headers={"Authorization": f"Bearer {secret}"}) as client,
        ):
            with pytest.raises(httpx.TransportError):
                await mint(client, name)
        assert not victim.is_alive()
        replayed = await mint_again(survivor.as_(secret), name)
        assert replayed.headers["idempotent-replayed"] == "true"
        await require_one_effect(world, survivor, name, replayed)
        again = await mint_again(survivor.as_(secret), name)
        assert again.content == replayed.content


async def test_a_process_killed_at_any_moment_leaves_no_effect_or_one_that_is_replayed(
    world: World, survivor: ApiProcess, secret: str
):
    began = time.monotonic()
    await mint(survivor.as_(secret), "how long it takes")
    duration = time.monotonic() - began
    chance = random.Random(20)  # noqa: S311
    for first in range(0, TRIES, AT_ONCE):
        for number, victim in enumerate(await world.apis(AT_ONCE), first):
            name = f"killed {number}"
            client = httpx.AsyncClient(base_url=victim.url, headers={"Authorization": f"Bearer {secret}"})
            # The first request pays for connections; the one that matters must not.
            assert (await client.get("/v1/account")).status_code == 200
            request = asyncio.create_task(mint(client, name))
            await asyncio.sleep(chance.uniform(0, 1.5 * duration))
            victim.kill()
            lost = (await asyncio.gather(request, return_exceptions=True))[0]
            answer = await mint_again(survivor.as_(secret), name)
            await require_one_effect(world, survivor, name, answer)
            if isinstance(lost, httpx.Response):
                assert lost.content == answer.content
            await client.aclose()


async def test_twins_over_two_processes_have_one_effect(world: World, survivor: ApiProcess, secret: str):
    other = await world.api()
    clients = [survivor.as_(secret), other.as_(secret)] * 4
    for round_ in range(5):
        name = f"twins {round_}"
        answers = await asyncio.gather(*[mint(client, name) for client in clients])
        made = [answer for answer in answers if answer.status_code == 201]
        refused = [code_of(answer) for answer in answers if answer.status_code != 201]
        assert set(refused) <= {"idempotency.in_flight"}
        assert len([answer for answer in made if "idempotent-replayed" not in answer.headers]) == 1
        assert len({answer.content for answer in made}) == 1
        await require_one_effect(world, survivor, name, made[0])
