"""Rows of a chunk are selected by environment and time, and get the site that was decided."""

import io
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import zstandard

from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import ClickHouse, RowsUnreadable, Statement
from stead.control.insights import chunks
from stead.control.insights.chunks import ChunkInvalid, Decision, Decisions, OpenChunk
from stead.control.insights.insert_store import count_columns, insert_statement
from stead.control.insights.tables import TABLES, TYPES
from stead.node.telemetry.ledger_rows import format_row, read_line
from stead.protocol.telemetry import COLUMNS, MAX_PARTS, MAX_PLAIN_BYTES, ChunkHead, Part, encode_head
from stead.shared.ids import new_id
from tests.control.insights.recorded import ledger_line

SECONDS = int(time.time()) - 3600
FIRST, LAST = SECONDS + 0.0, SECONDS + 600.0
GOOD = ["000.000", "600.000", "300.123"]
BAD = ["-00.001", "600.001"]
OTHER_TIMES = ["9999999999.999", "0000000005.000", "\\N", "4000000000.000"]


def times(endings: list[str]) -> list[str]:
    return [f"{SECONDS + float(ending):.3f}" for ending in endings]


def log_rows(rows: Mapping[str, list[str]]) -> bytes:
    """Rows of environments with these times; the text is the environment."""
    lines = [f"{name}\t{ts}\tINFO\tphp\tphp-fpm\t{name}\t\n" for name, each in rows.items() for ts in each]
    random.shuffle(lines)
    return zstandard.compress("".join(lines).encode())


class Stored:
    def __init__(self, clickhouse: ClickHouse) -> None:
        self._clickhouse = clickhouse

    async def insert(self, decisions: Decisions, rows: bytes, token: str = "") -> None:
        await self._clickhouse.insert(
            insert_statement("logs", decisions), rows, token=token or new_id("chunk")
        )

    async def list(self, site: str) -> list[tuple[str, int, str]]:
        statement = Statement(
            "select env_id, keep_days, toString(toUnixTimestamp64Milli(ts)) from logs"
            " where site_id = {site:String} order by ts",
            *({"site": site}, {}),
        )
        return await self._clickhouse.read(tuple[str, int, str], statement)


@pytest.fixture
def stored(plane: ControlPlane) -> Stored:
    return Stored(plane.clickhouse)


async def test_rows_of_other_times_and_of_other_environments_are_left_out(stored: Stored) -> None:
    environments, sites = [new_id("env") for _ in range(4)], [new_id("site") for _ in range(3)]
    hosted, moved, other, unknown = environments
    decisions = {
        hosted: Decision(sites[0], 30, FIRST, LAST),
        moved: Decision(sites[1], 7, FIRST, FIRST + 300),
        new_id("env"): Decision(sites[2], 7, FIRST, LAST),
    }
    every = [*times(GOOD + BAD), *OTHER_TIMES]
    await stored.insert(decisions, log_rows(dict.fromkeys(environments, every) | {"": every}))
    expected = [f"{SECONDS + float(ending):.3f}".replace(".", "") for ending in sorted(GOOD)]
    assert await stored.list(sites[0]) == [(hosted, 30, moment) for moment in expected]
    assert await stored.list(sites[1]) == [(moved, 7, expected[0])]
    assert await stored.list(sites[2]) == []
    assert {other, unknown}.isdisjoint(decisions)


async def test_a_chunk_of_as_many_environments_as_possible_is_inserted_as_one_block_and_once(
    stored: Stored,
) -> None:
    """More rows than ClickHouse reads at once. A second attempt under the same name changes nothing."""
    environments, site, token = [new_id("env") for _ in range(MAX_PARTS)], new_id("site"), new_id("chunk")
    decisions = {name: Decision(site, 30, FIRST, LAST) for name in environments}
    rows = log_rows({name: times([f"{number}.000" for number in range(5)]) for name in environments})
    for _ in range(2):
        await stored.insert(decisions, rows, token)
        found = await stored.list(site)
        assert len(found) == 5 * MAX_PARTS
        assert {name for name, _, _ in found} == set(environments)


async def test_values_cannot_change_the_statement(stored: Stored) -> None:
    """Ids come from PostgreSQL, but nothing depends on what they are."""
    site, environment = "site_'] as x, ['\\", "env_\\'] as names, ['"
    await stored.insert({environment: Decision(site, 30, FIRST, LAST)}, log_rows({"env_": times(GOOD)}))
    assert await stored.list("site_") == []


class Recorder(BaseHTTPRequestHandler):
    received: tuple[str, str | None, bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Recorder.received = (self.path, self.headers["Content-Encoding"], body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        del format, args


@pytest.fixture
def recorder() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://worker:x@127.0.0.1:{server.server_port}/stead"
        server.shutdown()
        thread.join()


async def test_the_server_receives_the_statement_and_behind_it_the_rows_as_one_text(recorder: str) -> None:
    """As the HTTP interface of ClickHouse expects it. The server of development machines reads the rows from
    a file, so only this test sees what a server in production gets."""
    clickhouse, environment = ClickHouse(recorder), new_id("env")
    statement = insert_statement("logs", {environment: Decision(new_id("site"), 30, FIRST, LAST)})
    rows = log_rows({environment: times(GOOD)})
    await clickhouse.insert(statement, rows, token="node-1/chunk_1")
    clickhouse.close()
    path, encoding, body = Recorder.received
    text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body), read_across_frames=True).read()
    assert encoding == "zstd"
    assert text == f"{statement}\n".encode() + zstandard.decompress(rows)
    assert statement.startswith("insert into logs (")
    assert " from input('env_id String, ts DateTime64(3, \\'UTC\\')," in statement
    assert statement.endswith(" format TabSeparated")
    assert "\n" not in statement
    values = parse_qs(urlsplit(path).query)
    assert "query" not in values, "it may be too long for an address"
    assert values["insert_deduplication_token"] == ["node-1/chunk_1"]
    assert values["deduplicate_insert_select"] == ["force_enable"]
    assert values["database"] == ["stead"]


@pytest.mark.parametrize("row", ["env_1\t5", "env_1", "", "env_1\tnow\tINFO\tphp\tphp-fpm\tx\t"])
async def test_a_chunk_with_a_row_that_cannot_be_read_is_refused_as_a_whole(stored: Stored, row: str) -> None:
    environment, site = new_id("env"), new_id("site")
    rows = log_rows({environment: times(GOOD)}) + zstandard.compress(f"{row}\n".encode())
    with pytest.raises(RowsUnreadable):
        await stored.insert({environment: Decision(site, 30, FIRST, LAST)}, rows)
    assert await stored.list(site) == []


async def test_a_node_that_does_not_know_the_newest_columns_yet_is_understood(plane: ControlPlane) -> None:
    environment, site = new_id("env"), new_id("site")
    visit = read_line(ledger_line(environment, ts=FIRST, path="/old"))
    assert visit is not None
    values = format_row(visit).decode().removesuffix("\n").split("\t")
    counts = (
        count_columns(ChunkHead("requests", ())),
        count_columns(ChunkHead("requests", (), len(COLUMNS["requests"]))),
    )
    assert counts == (18, len(values))
    for count in counts:
        row = "\t".join([environment, *values[:count]])
        await plane.clickhouse.insert(
            insert_statement("requests", {environment: Decision(site, 30, FIRST, LAST)}, count),
            zstandard.compress(f"{row}\n".encode()),
            token=new_id("chunk"),
        )
    statement = Statement(
        "select path, function_version, cpu_us from requests where site_id = {site:String}",
        *({"site": site}, {}),
    )
    assert await plane.clickhouse.read(tuple[str, str, int], statement) == [("/old", "", 0)] * 2


async def test_columns_have_the_types_of_their_tables(plane: ControlPlane) -> None:
    statement = Statement(
        "select table, name, type from system.columns where database = currentDatabase()", {}, {}
    )
    found = {
        (table, name): type_
        for table, name, type_ in await plane.clickhouse.read(tuple[str, str, str], statement)
    }
    for stream, columns in COLUMNS.items():
        assert stream in TABLES
        assert tuple(found[stream, name] for name in columns) == TYPES[stream]


def open_chunk(compressed: bytes) -> OpenChunk:
    return OpenChunk(encode_head(ChunkHead("logs", (Part("env_1", 1),))) + b"\n" + compressed)


@pytest.mark.parametrize("says_its_size", [True, False])
def test_a_chunk_that_is_too_large_when_it_is_decompressed_is_not_opened(says_its_size: bool) -> None:
    compressor = zstandard.ZstdCompressor(write_content_size=says_its_size)
    half = compressor.compress(bytes(MAX_PLAIN_BYTES // 2 + 1))
    open_chunk(half)
    for content in (half + half, compressor.compress(bytes(MAX_PLAIN_BYTES + 1))):
        with pytest.raises(ChunkInvalid, match="too large"):
            open_chunk(content)


@pytest.mark.parametrize("level", [1, 3, 19])
@pytest.mark.parametrize("size", [1, 1000, 128 << 10, (128 << 10) + 1, 400_000])
@pytest.mark.parametrize("kind", ["text", "random", "repeated"])
def test_the_largest_size_of_a_chunk_is_never_too_small(level: int, size: int, kind: str) -> None:
    """Otherwise somebody could make the server decompress more than it may."""
    plain = {
        "text": b"".join(b"env_1\t%d\tGET\t/page\n" % number for number in range(size // 18 + 1))[:size],
        "random": os.urandom(size),
        "repeated": bytes(size),
    }[kind]
    for checksum in (False, True):
        frame = zstandard.ZstdCompressor(level=level, write_checksum=checksum).compress(plain)
        for frames in (1, 2):
            assert chunks._largest_size(frame * frames) >= size * frames
        if level <= 3:
            assert chunks._largest_size(frame) <= size + (128 << 10), "nothing needs to be decompressed"
        for cut in (1, len(frame) // 2, len(frame) - 1):
            if not (checksum and cut == len(frame) - 1):
                with pytest.raises(ChunkInvalid):
                    chunks._largest_size(frame[:cut])
    with pytest.raises(ChunkInvalid):
        chunks._largest_size(frame + b"more")


def test_only_rows_of_environments_that_count_are_counted() -> None:
    head = encode_head(ChunkHead("logs", (Part("env_1", 3), Part("env_2", 4))))
    opened = OpenChunk(head + b"\n" + zstandard.compress(b"x\n"))
    assert opened.count_rows({"env_2": Decision("site_1", 30, FIRST, LAST)}) == 4
    assert opened.environments == ["env_1", "env_2"]
