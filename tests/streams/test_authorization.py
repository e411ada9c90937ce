"""A stream ends soon after its caller lost access, and the number of open streams is limited."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from stead.control.engines.nats_reader import FETCH_SECONDS
from stead.dev.engines.redis import Redis
from stead.shared.roles import Role
from tests import teams
from tests.abuse.neighbour import Neighbour
from tests.faults.processes import ApiProcess, eventually
from tests.patience import slowdown
from tests.people import Person
from tests.streams.sse import Listener, listening
from tests.streams.stage import NODE, Stage

STREAMS = 30
WITHIN = 5.0

Figure = Callable[[str, str], None]


@pytest.fixture
async def person(stage: Stage) -> Person:
    return await stage.world.person(stage.one)


async def mint_key(process: ApiProcess, person: Person) -> dict[str, Any]:
    """A key that was created through the API, so that it can be revoked through it."""
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["jobs:read"]})
    assert minted.status_code == 201
    return dict(minted.json()["data"])


@asynccontextmanager
async def open_streams(stage: Stage, secret: str, job: str, number: int) -> AsyncIterator[list[Listener]]:
    """Streams on both processes, each of which has received something."""
    async with AsyncExitStack() as stack:
        listeners = [
            await stack.enter_async_context(listening((stage.one, stage.two)[n % 2].port, job, secret))
            for n in range(number)
        ]
        for each in listeners:
            await each.until(lambda heard: bool(heard.statuses))
        yield listeners


async def seconds_until_all_end(listeners: list[Listener]) -> float:
    began = time.monotonic()
    await asyncio.gather(*(each.to_the_end(within=WITHIN * slowdown()) for each in listeners))
    return time.monotonic() - began


async def test_streams_end_within_seconds_after_their_key_is_revoked(
    stage: Stage, person: Person, record_property: Figure
):
    key, job = await mint_key(stage.one, person), await stage.job(status="running", account=person.id)
    others_job = await stage.job(status="running")
    async with (
        open_streams(stage, stage.secret, others_job, 2) as others,
        open_streams(stage, key["secret"], job, STREAMS) as revoked,
    ):

        async def read_line() -> None:
            await stage.say(others_job, ["line"])
            known = len(others[0].heard.lines)
            await others[0].until(lambda heard: len(heard.lines) > known)

        neighbour = Neighbour(read_line)
        await neighbour.live_alone(20)
        assert (await person.session.delete(f"/v1/api-keys/{key['id']}")).status_code == 204
        async with neighbour.living_beside():
            seconds = await seconds_until_all_end(revoked)
            await neighbour.send_at_least(20)
        assert not any(each.heard.done for each in revoked)
        assert not any(each.heard.ended for each in others)
    record_property("figure", f"{STREAMS} streams of a revoked key ended after {seconds:.1f} s")
    record_property("figure", neighbour.figure(f"{STREAMS} streams that end"))


async def test_streams_end_without_redis_too(stage: Stage, person: Person):
    key, job = await mint_key(stage.one, person), await stage.job(status="running", account=person.id)
    async with open_streams(stage, key["secret"], job, 4) as revoked, stage.world.without(Redis):
        assert (await person.session.delete(f"/v1/api-keys/{key['id']}")).status_code == 204
        await seconds_until_all_end(revoked)
    for process in (stage.one, stage.two):
        await process.until_ready()


async def test_streams_end_within_seconds_after_a_member_is_removed(stage: Stage, person: Person):
    member = await stage.world.person(stage.one)
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, person.id)
        await teams.insert_member(tx, team, member.id, Role.OBSERVER)
        site = await teams.insert_site(tx, team=team)
        job = await teams.insert_job(tx, site, team, status="running", nodes=(NODE.id,))
    async with (
        open_streams(stage, await person.secret(), job, 2) as kept,
        open_streams(stage, await member.secret(), job, 4) as removed,
    ):
        assert (await person.session.delete(f"/v1/teams/{team}/members/{member.id}")).status_code == 204
        await seconds_until_all_end(removed)
        await stage.say(job, ["after the removal"])
        for each in kept:
            await each.until(lambda heard: "after the removal" in heard.lines)


@pytest.mark.parametrize("subject", ["CREDENTIAL", "ACCOUNT", "ADDRESS"])
async def test_the_number_of_open_streams_is_limited(stage: Stage, person: Person, subject: str):
    api = await stage.world.api(**{f"STEAD_STREAMS_PER_{subject}": "3"})
    secret, job = await person.secret(), await stage.job(status="running", account=person.id)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            listener = await stack.enter_async_context(listening(api.port, job, secret))
            await listener.until(lambda heard: bool(heard.statuses))
        refused = await api.as_(secret).get(f"/v1/jobs/{job}/stream")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit.streams")
    assert await api.metric("stead_open_streams") <= 3

    async def is_open() -> bool:
        async with listening(api.port, job, secret) as listener:
            return (await listener.until(lambda heard: heard.status != 0)).status == 200

    await eventually(is_open, within=20, what="a stream is accepted after others were closed")
    await api.stop()


async def test_output_of_a_node_that_was_not_asked_does_not_end_a_stream(stage: Stage, person: Person):
    """Longer than a reader waits for more output."""
    async with person.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        job = await teams.insert_job(tx, site, person.id, status="running")
    async with open_streams(stage, await person.secret(), job, 1) as (listener,):
        await stage.say(job, ["ignored"])
        with pytest.raises(AssertionError, match="not within"):
            await listener.until(lambda heard: heard.ended or bool(heard.lines), within=FETCH_SECONDS + 2)
        await stage.update(job, nodes=[NODE.id])
        await stage.say(job, ["of a node that was asked"])
        await listener.until(lambda heard: heard.lines == ["of a node that was asked"])
