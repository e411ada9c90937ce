"""Every row of the table of page cache rules, through nginx."""

import itertools
from dataclasses import dataclass

import pytest

from stead.protocol.edge_records import HostRecord
from tests.edge.edge_harness import EdgeHarness
from tests.edge.fastcgi import Application, Reply, Request
from tests.edge.lua import module, runtime
from tests.edge.page_cache_rows import BYPASS, HIT, NEVER, OWN, ROWS, Row

DAY = 86_400
LUA = runtime()
CACHE = module(LUA, "pagecache")


@dataclass(frozen=True)
class Answer:
    page: str
    """Another one for each fetch."""
    cache: str


def host_of(number: int) -> str:
    return f"row{number}.test"


@pytest.fixture(scope="module")
async def app(edge: EdgeHarness) -> Application:
    """Each row has a host of its own, and therefore pages of its own."""
    made = await edge.application("rows")
    home = edge.data / "environments" / "env_rows" / "current"
    for name in ("wp-login.php", "xmlrpc.php", "wp-cron.php", "wp-admin/index.php"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("<?php")
    await edge.environment("rows", runtime="cms", waf="off", cache_ttl=DAY)
    hosts = [edge.line("host", host_of(each), HostRecord("env_rows")) for each in range(len(ROWS))]
    await edge.admin.apply(hosts)
    fetches = itertools.count()

    async def respond(request: Request) -> Reply:
        row = ROWS[int(request.params["HTTP_HOST"].removeprefix("row").removesuffix(".test"))]
        headers = (("X-Page", str(next(fetches))), *row.answer.items())
        return Reply(b"a page", row.status, headers)

    made.handler = respond
    return made


async def send(
    edge: EdgeHarness, host: str, target: str, method: str = "GET", body: str = "", **headers: str
) -> Answer:
    given = {"Host": host, "Connection": "close"} | headers
    if body:
        given["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", body]
    head = (await edge.raw("\r\n".join(lines).encode())).partition(b"\r\n\r\n")[0].decode()
    found = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
    return Answer(found["x-page"], found["x-cache"].upper())


@pytest.mark.parametrize(("number", "row"), list(enumerate(ROWS)), ids=[row.rule for row in ROWS])
async def test_a_request_gets_the_page_that_the_rules_allow(
    edge: EdgeHarness, app: Application, number: int, row: Row
) -> None:
    host = host_of(number)
    first = await send(edge, host, row.seed or row.target)
    second = await send(edge, host, row.target, row.method, row.body, **row.headers)
    again = await send(edge, host, row.target, row.method, row.body, **row.headers)
    match row.outcome:
        case "hit":
            assert (first.cache, second.cache) == ("MISS", "HIT")
            assert second.page == first.page
        case "own":
            assert (second.cache, again.cache) == ("MISS", "HIT")
            assert first.page != second.page
        case "bypass":
            assert (second.cache, again.cache) == ("BYPASS", "BYPASS")
            assert len({first.page, second.page, again.page}) == 3
        case "never":
            assert (second.cache, again.cache) == ("MISS", "MISS")
            assert row.status >= 500


@pytest.mark.parametrize("row", [each for each in ROWS if each.lives], ids=lambda row: row.rule)
def test_a_page_is_cached_for_as_long_as_the_rules_allow(row: Row) -> None:
    headers = LUA.table_from({name.lower().encode(): value.encode() for name, value in row.answer.items()})
    target = CACHE.target(row.target.encode())
    rule = CACHE.rule(target.split(b"?")[0], target)
    assert CACHE.seconds(row.status, headers, DAY, rule) == row.lives
    assert CACHE.seconds(row.status, headers, 30, rule) == 30


def test_the_table_has_every_outcome_and_enough_rows() -> None:
    assert {row.outcome for row in ROWS} == {HIT, OWN, BYPASS, NEVER}
    assert len(ROWS) >= 80
    assert (
        len({(row.target, row.method, *row.headers.items(), *row.answer.items(), row.status) for row in ROWS})
        > 150
    )


async def test_the_case_of_a_host_its_port_and_its_last_dot_do_not_matter(
    edge: EdgeHarness, app: Application
) -> None:
    first = await send(edge, "row0.test", "/host/")
    for same in ("ROW0.Test", f"row0.test:{edge.port}", "row0.test."):
        assert await send(edge, same, "/host/") == Answer(first.page, "HIT")
    absolute = await send(edge, "row0.test", "http://row0.test/host/")
    assert absolute == Answer(first.page, "HIT")


async def test_a_path_has_a_limited_number_of_entries(edge: EdgeHarness, app: Application) -> None:
    """Otherwise a visitor could fill the cache with `?x=<random>`."""
    for number in range(200):
        assert (await send(edge, "row0.test", f"/many/?x={number}")).cache == "MISS"
    assert (await send(edge, "row0.test", "/many/?x=another")).cache == "BYPASS"
    assert (await send(edge, "row0.test", "/many/?x=7")).cache == "HIT"
    assert (await send(edge, "row0.test", "/many/")).cache == "MISS"
    assert (await send(edge, "row0.test", "/others/?x=1")).cache == "MISS"
