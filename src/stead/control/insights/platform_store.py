"""What the platform records about itself, in ClickHouse. No table has anything of tenants."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import zstandard

from stead.control.engines.clickhouse import ClickHouse, Statement
from stead.protocol.platform import PlatformReport
from stead.shared.ids import new_id
from stead.shared.own_records import is_valid_line, is_valid_sample

KEEP_DAYS = 30
PAST, FUTURE = 86_400.0, 300.0
"""How far the time of a record may be from that of its arrival, in seconds."""

_SETTINGS = "non_replicated_deduplication_window = 100, ttl_only_drop_parts = 1"
STATEMENTS = (
    f"""
create table if not exists platform_logs (
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  program LowCardinality(String),
  instance LowCardinality(String),
  level LowCardinality(String),
  event LowCardinality(String),
  fields String codec(ZSTD(1))
) engine = MergeTree
partition by toYYYYMM(ts)
order by ts
ttl toDateTime(ts) + toIntervalDay({KEEP_DAYS})
settings {_SETTINGS}
""",
    f"""
create table if not exists platform_metrics (
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  program LowCardinality(String),
  instance LowCardinality(String),
  name LowCardinality(String),
  labels String codec(ZSTD(1)),
  value Float64 codec(ZSTD(1))
) engine = MergeTree
partition by toYYYYMM(ts)
order by (name, program, instance, labels, ts)
ttl toDateTime(ts) + toIntervalDay({KEEP_DAYS})
settings {_SETTINGS}
""",
)
_ALL_TYPES = {"ts": "DateTime64(3, \\'UTC\\')", "program": "String", "instance": "String"}
_LOG_TYPES = _ALL_TYPES | {"level": "String", "event": "String", "fields": "String"}
_METRIC_TYPES = _ALL_TYPES | {"name": "String", "labels": "String", "value": "Float64"}


class Line(NamedTuple):
    ts: int
    """In milliseconds since 1970."""
    program: str
    instance: str
    level: str
    event: str
    fields: str
    """JSON."""


class Series(NamedTuple):
    program: str
    instance: str
    name: str
    labels: str
    """JSON."""
    last: float
    least: float
    most: float


class LineFilter(msgspec.Struct, frozen=True):
    """An empty text matches everything."""

    hours: int = 1
    program: str = ""
    instance: str = ""
    level: str = ""
    event: str = ""
    limit: int = 200


async def create_platform_tables(clickhouse: ClickHouse) -> None:
    await clickhouse.execute(f"create database if not exists {clickhouse.database}", in_database=False)
    for statement in STATEMENTS:
        await clickhouse.execute(statement)


def log_rows(program: str, report: PlatformReport, now: float) -> list[bytes]:
    """Without lines that are not valid."""
    return [
        _row(program, report, line.ts, level=line.level, event=line.event, fields=_json(line.fields))
        for line in report.lines
        if _is_near(line.ts, now) and is_valid_line(line)
    ]


def metric_rows(program: str, report: PlatformReport, now: float) -> list[bytes]:
    if not _is_near(report.at, now):
        return []
    return [
        _row(program, report, report.at, name=each.name, labels=_json(each.labels), value=each.value)
        for each in report.samples
        if is_valid_sample(each)
    ]


async def insert_logs(clickhouse: ClickHouse, rows: list[bytes]) -> None:
    await _insert(clickhouse, "platform_logs", _LOG_TYPES, rows)


async def insert_metrics(clickhouse: ClickHouse, rows: list[bytes]) -> None:
    await _insert(clickhouse, "platform_metrics", _METRIC_TYPES, rows)


async def list_lines(clickhouse: ClickHouse, wanted: LineFilter) -> list[Line]:
    """Newest first."""
    names = ("program", "instance", "level", "event")
    conditions = " and ".join(f"({{{name}:String}} = '' or {name} = {{{name}:String}})" for name in names)
    statement = Statement(
        "select toUnixTimestamp64Milli(ts), program, instance, level, event, fields from platform_logs"  # noqa: S608
        f" where ts >= now64(3) - toIntervalHour({{hours:UInt32}}) and {conditions}"
        " order by ts desc limit {limit:UInt32}",
        {name: str(getattr(wanted, name)) for name in (*names, "hours", "limit")},
        {"output_format_json_quote_64bit_integers": 0},
    )
    return await clickhouse.read(Line, statement)


async def list_series(clickhouse: ClickHouse, name: str, hours: int) -> list[Series]:
    """Each series of the metrics whose names begin like this, with its last, least and greatest value."""
    statement = Statement(
        "select program, instance, name, labels, argMax(value, ts), min(value), max(value)"
        " from platform_metrics where startsWith(name, {name:String})"
        " and ts >= now64(3) - toIntervalHour({hours:UInt32})"
        " group by program, instance, name, labels order by name, labels, program, instance limit 10000",
        {"name": name, "hours": str(hours)},
        {"output_format_json_quote_denormals": 0},
    )
    return await clickhouse.read(Series, statement)


def render_lines(lines: list[Line]) -> str:
    """Oldest first, as in a file."""
    return "\n".join(
        f"{_moment(line.ts / 1000)} {line.level:8} {line.program}/{line.instance} {line.event} {line.fields}"
        for line in reversed(lines)
    )


def render_series(series: list[Series]) -> str:
    rows = [f"{'last':>14} {'least':>14} {'greatest':>14}  series"]
    rows += [
        f"{each.last:14.6g} {each.least:14.6g} {each.most:14.6g}  {each.name}{each.labels}"
        f" {each.program}/{each.instance}"
        for each in series
    ]
    return "\n".join(rows)


async def _insert(clickhouse: ClickHouse, table: str, types: Mapping[str, str], rows: list[bytes]) -> None:
    columns = ", ".join(types)
    structure = ", ".join(f"{name} {type_}" for name, type_ in types.items())
    statement = (
        f"insert into {table} ({columns}) select {columns} from input('{structure}')"  # noqa: S608 - constants
        " format JSONEachRow"
    )
    await clickhouse.insert(statement, zstandard.compress(b"\n".join(rows) + b"\n"), token=new_id("chunk"))


def _row(program: str, report: PlatformReport, ts: float, **values: str | float) -> bytes:
    return msgspec.json.encode({"ts": f"{ts:.3f}", "program": program, "instance": report.instance, **values})


def _is_near(moment: float, now: float) -> bool:
    return now - PAST <= moment <= now + FUTURE


def _json(fields: object) -> str:
    return msgspec.json.encode(fields).decode()


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
