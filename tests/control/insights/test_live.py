"""New rows are sent once each to whoever follows them, if the filters and the caller allow it."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.insights import live, service
from stead.control.insights.queries import Condition, Window
from stead.control.insights.rules import InsightsUnavailable
from stead.shared.roles import Role
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import ledger_line, stamp
from tests.control.served_site import ServedSite, create_served_site
from tests.teams import insert_member, insert_team

WAIT_SECONDS = 60.0


class Row(msgspec.Struct):
    number: int


class Followed:
    """A stream over ASGI: the test client of HTTP waits for the end of a response."""

    def __init__(self) -> None:
        self.status, self.started = 0, asyncio.Event()
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.started.set()
        elif message.get("body"):
            self._frames.put_nowait(message["body"])

    async def next(self, event: str) -> Any:
        """The data of the next event of this name."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                for frame in (await self._frames.get()).decode().split("\n\n"):
                    if frame.startswith(f"event: {event}\n"):
                        return msgspec.json.decode(frame.partition("data: ")[2])


@asynccontextmanager
async def following(plane: ControlPlane, secret: str, path: str, query: str = "") -> AsyncIterator[Followed]:
    followed, forever = Followed(), asyncio.Event()
    received = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        for message in received:
            return message
        await forever.wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"accept", b"text/event-stream"), (b"authorization", f"Bearer {secret}".encode())],
        "client": ("127.0.0.1", 4711),
        "scheme": "http",
    }
    task = asyncio.create_task(plane(scope, receive, followed.send))
    try:
        yield followed
    finally:
        forever.set()
        await task


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.1)


@pytest.mark.usefixtures("quick")
async def test_new_requests_and_lines_are_sent_as_they_arrive(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane
) -> None:
    await pipeline.record(ledger_line(site.env, path="/before"))
    secret = await site.person.secret()
    requests, logs = f"/v1/sites/{site.id}/insights/requests", f"/v1/sites/{site.id}/insights/logs"
    async with (
        following(plane, secret, requests, "status=5xx") as errors,
        following(plane, secret, logs) as lines,
        following(plane, secret, "/v1/logs") as all_lines,
    ):
        await asyncio.sleep(0.5)
        await pipeline.record(
            ledger_line(site.env, path="/fine"), ledger_line(site.env, path="/broken", status=500)
        )
        assert (await errors.next("request"))["path"] == "/broken"
        await pipeline.record(ledger_line(site.env, path="/again", status=502))
        assert (await errors.next("request"))["path"] == "/again"
        await pipeline.log(site.env, f"{stamp()} a line\n")
        assert (await lines.next("line"))["body"] == "a line"
        assert (await all_lines.next("line"))["site_id"] == site.id
    assert errors.status == 200


@pytest.mark.usefixtures("quick")
async def test_a_stream_about_all_sites_stops_showing_those_of_a_team_that_the_caller_has_left(
    pipeline: Pipeline,
    site: ServedSite,
    plane: ControlPlane,
    new_person: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "SITES_SECONDS", 0.0)
    member = await new_person()
    own = await create_served_site(plane, member)
    async with plane.database.transaction() as tx:
        team = await insert_team(tx, site.person.id)
        await tx.run("update sites set account_id = null, team_id = $2 where id = $1", site.id, team)
        await insert_member(tx, team, member.id, Role.OBSERVER)
    async with following(plane, await member.secret(), "/v1/logs") as lines:
        async with asyncio.timeout(WAIT_SECONDS):
            await lines.started.wait()
        await pipeline.log(site.env, f"{stamp()} of the team\n")
        assert (await lines.next("line"))["body"] == "of the team"
        async with plane.database.transaction() as tx:
            await tx.run("delete from team_members where team_id = $1 and account_id = $2", team, member.id)
        await pipeline.log(site.env, f"{stamp(90)} no longer shown\n")
        await pipeline.log(own.env, f"{stamp(30)} of the caller\n")
        assert (await lines.next("line"))["body"] == "of the caller"


async def test_a_stream_of_another_tenant_is_not_found(
    site: ServedSite, plane: ControlPlane, new_person: Any
) -> None:
    stranger = await (await new_person()).secret()
    async with following(plane, stranger, f"/v1/sites/{site.id}/insights/logs") as followed:
        async with asyncio.timeout(WAIT_SECONDS):
            await followed.started.wait()
    assert followed.status == 404


async def take(frames: AsyncGenerator[bytes, None], count: int) -> list[bytes]:
    found = [await anext(frames) for _ in range(count)]
    await frames.aclose()
    return found


async def test_rows_that_appear_late_are_sent_and_none_twice() -> None:
    looks = iter([[3, 1], [4, 3, 2, 1], [4, 3, 2], [5]])
    asked: list[Condition] = []

    async def look(_: Window, condition: Condition) -> list[Row]:
        asked.append(condition)
        return [Row(number) for number in next(looks)]

    moments = iter(datetime(2026, 11, 16, tzinfo=UTC) + timedelta(seconds=n) for n in range(100))
    frames = live.follow("row", look, lambda: next(moments), pause=0)
    sent = b"".join(await take(frames, 4)).decode()
    assert [line for line in sent.splitlines() if line.startswith("data")] == [
        f'data: {{"number":{number}}}' for number in (1, 3, 2, 4, 5)
    ]
    assert len({condition.parameters["received"] for condition in asked}) == 1


async def test_an_outage_is_said_and_the_stream_goes_on() -> None:
    is_down = iter([True, False])

    async def look(*_: object) -> list[Row]:
        if next(is_down):
            raise InsightsUnavailable
        return [Row(1)]

    frames = await take(live.follow("row", look, lambda: datetime.now(UTC), pause=0), 3)
    assert b"insights.unavailable" in frames[1]
    assert b'{"number":1}' in frames[2]


async def test_after_an_outage_the_stream_goes_on_where_it_was() -> None:
    """Also if the outage was longer than the time by which looks overlap."""
    looks = iter([True, *[False] * 60, True])
    asked: list[float] = []

    async def look(_: Window, condition: Condition) -> list[Row]:
        asked.append(float(condition.parameters["received"]))
        if not next(looks):
            raise InsightsUnavailable
        return [Row(len(asked))]

    start = datetime(2026, 11, 16, tzinfo=UTC)
    moments = iter(start + timedelta(seconds=2 * n) for n in range(100))
    frames = await take(live.follow("row", look, lambda: next(moments), pause=0), 63)
    assert b'{"number":62}' in frames[-1]
    assert max(asked) <= start.timestamp() + 2


async def test_a_stream_that_sends_everything_does_not_say_that_something_is_missing() -> None:
    """Each look finds as many rows as it may, and most of them were sent before."""
    newest = iter(range(live.MAX_ROWS - 10, 10_000, 60))

    async def look(*_: object) -> list[Row]:
        last = next(newest)
        return [Row(number) for number in range(last, max(last - live.MAX_ROWS - 1, -1), -1)]

    frames = await take(live.follow("row", look, lambda: datetime.now(UTC), pause=0), 40)
    sent = b"".join(frames)
    assert b"event: truncated" not in sent
    numbers = [int(part.partition(b"}")[0]) for part in sent.split(b'{"number":')[1:]]
    assert numbers == list(range(max(numbers) + 1))


async def test_streams_look_more_rarely_while_looks_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.001)
    began: list[float] = []

    async def look(*_: object) -> list[Row]:
        began.append(time.monotonic())
        await asyncio.sleep(0.05)
        return [Row(len(began))]

    await take(live.follow("row", look, lambda: datetime.now(UTC)), 3)
    assert began[1] - began[0] > 0.05 * live.SLOW_FACTOR


async def test_more_rows_than_can_be_shown_are_mentioned() -> None:
    async def look(*_: object) -> list[Row]:
        return [Row(number) for number in range(live.MAX_ROWS + 1)]

    frames = await take(live.follow("row", look, lambda: datetime.now(UTC), pause=0), 2)
    assert frames[1].count(b"event: row") == live.MAX_ROWS
    assert b"event: truncated" in frames[1]
