"""Nobody gets more of ClickHouse than a part, and an answer that is not complete is not shown."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice

import pytest

from stead.control.app import ControlPlane
from stead.control.engines import clickhouse as engine
from stead.control.engines.clickhouse import (
    AT_ONCE_OF_ACCOUNT,
    ClickHouse,
    ClickHouseUnavailable,
    QueryTooExpensive,
    Statement,
)
from stead.control.insights import log_views
from stead.control.insights.queries import LIMITS
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import stamp
from tests.control.served_site import ServedSite

NUMBERS = Statement("select number from numbers(3)", {}, {})
WAIT_SECONDS = 30.0


class Slow(BaseHTTPRequestHandler):
    """Answers when it may, in the middle of a result if it must."""

    may_answer = threading.Event()
    arrived = threading.Semaphore(0)
    body = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        Slow.arrived.release()
        Slow.may_answer.wait(WAIT_SECONDS)
        self.send_response(200)
        self.send_header("Content-Length", str(len(Slow.body)))
        self.end_headers()
        self.wfile.write(Slow.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        del format, args


@pytest.fixture
def slow() -> Iterator[ClickHouse]:
    Slow.may_answer.clear()
    Slow.body = b"[1]\n"
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        clickhouse = ClickHouse(f"http://api:x@127.0.0.1:{server.server_port}/stead")
        yield clickhouse
        Slow.may_answer.set()
        clickhouse.close()
        server.shutdown()
        thread.join()


async def test_an_account_with_slow_queries_leaves_places_to_others(
    slow: ClickHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "ACCOUNT_WAIT_SECONDS", 0.2)
    greedy = [asyncio.create_task(slow.of_account("acct_1").read(list[int], NUMBERS)) for _ in range(20)]
    finished = asyncio.as_completed(greedy)
    for refused in islice(finished, 20 - AT_ONCE_OF_ACCOUNT):
        with pytest.raises(ClickHouseUnavailable):
            await refused
    other = asyncio.create_task(slow.of_account("acct_2").read(list[int], NUMBERS))
    for _ in range(AT_ONCE_OF_ACCOUNT + 1):
        assert await asyncio.to_thread(Slow.arrived.acquire, timeout=WAIT_SECONDS)
    Slow.may_answer.set()
    assert await other == [[1]]
    for answered in finished:
        assert await answered == [[1]]
    assert await slow.of_account("acct_1").read(list[int], NUMBERS) == [[1]]


async def test_an_answer_that_breaks_off_with_an_error_is_not_shown(slow: ClickHouse) -> None:
    """A server that has begun to answer can only write that it fails behind the rows."""
    Slow.may_answer.set()
    Slow.body = b"[1]\n[2]\nCode: 159. DB::Exception: Timeout exceeded\n"
    with pytest.raises(ClickHouseUnavailable):
        await slow.read(list[int], NUMBERS)
    assert LIMITS["http_wait_end_of_query"] == 1


async def test_a_large_result_is_cut_at_a_row_or_refused(plane: ControlPlane) -> None:
    many = Statement("select number from numbers(1000)", {}, {})
    rows, has_more = await plane.clickhouse.read_up_to(list[int], many, 64)
    assert has_more
    assert rows == [[number] for number in range(len(rows))]
    assert 0 < len(rows) < 64
    huge = Statement("select repeat('x', 1000000) from numbers(20)", {}, {})
    with pytest.raises(QueryTooExpensive):
        await plane.clickhouse.read(list[str], huge)
    assert len(await plane.clickhouse.read(list[int], many)) == 1000


async def test_long_log_lines_are_shown_up_to_a_size(
    pipeline: Pipeline, site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_views, "MAX_SHOWN_BYTES", 10_000)
    await pipeline.log(site.env, "".join(f"{stamp(60 - n)} {n} {'x' * 900}\n" for n in range(30)))
    shown = await site.get("/insights/logs")
    assert 5 < len(shown["lines"]) < 12
    assert shown["truncated"]
    assert shown["lines"][0]["body"].startswith("29 ")
