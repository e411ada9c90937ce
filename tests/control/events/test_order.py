"""The feed is in commit order: new events never appear below an event that was already read."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from stead.control.engines.postgres import Tx
from stead.control.events.sequencer import Sequencer
from stead.control.features import event_catalog
from stead.control.outbox.events import About, publish
from stead.control.sites.events import SITE_RESTARTED
from tests.client import Client
from tests.outbox import Outbox
from tests.patience import time_limit
from tests.people import Person


@pytest.fixture
async def reader(outbox: Outbox) -> Person:
    return await outbox.person()


async def read_all(client: Client, *, limit: int = 3, **query: str) -> list[str]:
    """Read the ids of all events, newest first, page by page."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": str(limit), **query, **({"cursor": cursor} if cursor else {})}
        page = (await client.get("/v1/events", params=params)).json()
        found += [event["id"] for event in page["data"]]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            return found


class Writer:
    """A transaction that the test publishes in and commits step by step."""

    def __init__(self, outbox: Outbox, owner: str) -> None:
        self._outbox, self._owner = outbox, owner
        self._stack: AsyncExitStack | None = None
        self._tx: Tx | None = None

    async def publish(self) -> None:
        if self._tx is None:
            self._stack = AsyncExitStack()
            self._tx = await self._stack.enter_async_context(self._outbox.plane.database.transaction())
        await publish(self._tx, SITE_RESTARTED, About(account_id=self._owner), domain="example.com")

    async def commit(self) -> None:
        if self._stack is not None:
            await self._stack.aclose()
        self._stack = self._tx = None


STEPS = st.lists(
    st.tuples(st.sampled_from(["publish", "commit", "sequence", "poll"]), st.integers(0, 2)), max_size=30
)


@given(steps=STEPS)
@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_a_poller_sees_every_event_once_however_transactions_overlap(
    steps: list[tuple[str, int]], outbox: Outbox
):
    owner = await outbox.person()
    writers = [Writer(outbox, owner.id) for _ in range(3)]
    seen: list[str] = []
    try:
        for step, which in steps:
            if step == "publish":
                await writers[which].publish()
            elif step == "commit":
                await writers[which].commit()
            elif step == "sequence":
                await outbox.number_events()
            else:
                await _poll(owner.session, seen)
    finally:
        for writer in writers:
            await writer.commit()
    await outbox.number_events()
    await _poll(owner.session, seen)
    written = await _ids(outbox, owner, "id")
    assert sorted(seen) == sorted(written)
    assert seen == await _ids(outbox, owner, "position")


async def _poll(client: Client, seen: list[str]) -> None:
    """Read from the top until the newest event of the previous poll, as the documentation says."""
    found = await read_all(client)
    last = found.index(seen[-1]) if seen else len(found)
    assert found[last:] == seen[::-1], "something changed below an event that was already read"
    seen += found[:last][::-1]


async def _ids(outbox: Outbox, owner: Person, order: str) -> list[str]:
    async with outbox.plane.database.reading() as tx:
        return await tx.all(str, f"select id from events where account_id = $1 order by {order}", owner.id)


async def test_an_event_comes_before_those_that_commit_later(outbox: Outbox, reader: Person):
    """Even if the later transaction generated its identifier first."""
    slow, quick = Writer(outbox, reader.id), Writer(outbox, reader.id)
    await slow.publish()
    await quick.publish()
    await quick.commit()
    await outbox.number_events()
    (first,) = await read_all(reader.session)
    await slow.commit()
    await outbox.number_events()
    newest, oldest = await read_all(reader.session)
    assert oldest == first
    assert newest < oldest, "the later event has the smaller identifier, which this test is about"


async def test_an_uncommitted_event_is_not_in_the_feed(outbox: Outbox, reader: Person):
    writer = Writer(outbox, reader.id)
    await writer.publish()
    await outbox.number_events()
    assert await read_all(reader.session) == []
    await writer.commit()
    await outbox.number_events()
    assert len(await read_all(reader.session)) == 1


async def test_concurrent_writers_and_sequencers_lose_and_repeat_no_event(outbox: Outbox, reader: Person):
    """Pages that are read meanwhile never change below the position of the reader."""
    total, seen = 300, list[str]()
    done = asyncio.Event()

    async def write(count: int) -> None:
        for _ in range(count):
            await outbox.publish("site.restarted", account_id=reader.id, data={"domain": "a.example"})

    async def sequence() -> None:
        while not done.is_set():
            await outbox.number_events()
            await asyncio.sleep(0.002)

    async def poll() -> None:
        while not done.is_set():
            await _poll(reader.session, seen)

    tasks = [asyncio.create_task(each()) for each in (sequence, sequence, poll)]
    await asyncio.gather(*(write(total // 6) for _ in range(6)))
    done.set()
    await asyncio.gather(*tasks)
    await outbox.number_events()
    await _poll(reader.session, seen)
    assert len(seen) == len(set(seen)) == total
    assert seen == await _ids(outbox, reader, "position")


async def test_pagination_is_not_affected_by_new_events(outbox: Outbox, reader: Person):
    await outbox.publish("site.restarted", times=7, account_id=reader.id, data={"domain": "a.example"})
    await outbox.number_events()
    before = await read_all(reader.session)
    first = (await reader.session.get("/v1/events?limit=3")).json()
    await outbox.publish("site.restarted", times=5, account_id=reader.id, data={"domain": "a.example"})
    await outbox.number_events()
    rest, cursor = [], first["pagination"]["next_cursor"]
    while cursor:
        page = (await reader.session.get("/v1/events", params={"limit": 3, "cursor": cursor})).json()
        rest += page["data"]
        cursor = page["pagination"]["next_cursor"]
    assert [event["id"] for event in [*first["data"], *rest]] == before


async def test_the_sequencer_is_woken_by_a_commit(outbox: Outbox, reader: Person):
    sequencer = Sequencer(outbox.plane.database, outbox.plane.listener, [], event_catalog())
    running = asyncio.create_task(sequencer.run())
    try:
        await outbox.publish("site.restarted", account_id=reader.id, data={"domain": "a.example"})
        async with time_limit(10):
            while not await read_all(reader.session):  # noqa: ASYNC110 - polls the database
                await asyncio.sleep(0.01)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
