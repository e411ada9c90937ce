"""The tables in ClickHouse. A worker creates those that are missing when it starts.

Every table begins its order with the site, so a query reads only what belongs to one. Rows that are kept for
different times are in different partitions, so old ones are removed as whole files. Sums and percentiles of
minutes and hours are made when rows are inserted, so a view of a month reads a few hundred rows of a site.
"""

from stead.control.engines.clickhouse import ClickHouse
from stead.protocol.telemetry import StreamName

DEDUPLICATION_WINDOW = 100_000
"""How many parts a table remembers: an insert makes one for each plan and week. The control plane inserts a
chunk again only if it does not know whether it has succeeded, so the window matters for the chunks of a few
minutes."""

ADDED_COLUMNS = ("site_id", "env_id", "keep_days")
"""Before those that a node has sent, in each row."""

_TIME = "DateTime64(3, 'UTC')"
TYPES: dict[StreamName, tuple[str, ...]] = {
    "requests": (
        *(_TIME, "String", "String", "LowCardinality(String)", "String", "UInt16", "UInt64", "UInt64"),
        *("UInt32", "Int32", "LowCardinality(String)", "LowCardinality(String)", "String", "String"),
        *["LowCardinality(String)"] * 4,
        *("String", "UInt32", "UInt32"),
    ),
    "logs": (_TIME, *["LowCardinality(String)"] * 3, "String", "String"),
    "resources": (_TIME, "LowCardinality(String)", *["UInt64"] * 4),
    "vitals": (_TIME, "String", "String", "LowCardinality(String)", "LowCardinality(String)", "Float32"),
    "spans": (
        *(_TIME, "String", "String", "String", "LowCardinality(String)", "String", "UInt64"),
        *("LowCardinality(String)", "UInt16"),
    ),
}
"""Of the columns that a node sends, as `protocol/telemetry.py` lists them."""

_WEEK, _MONTH = "toMonday(ts)", "toStartOfMonth(ts)"
"""Partitions of rows, and of their sums. A file is removed when its newest row is due; nobody can read a row
that is due meanwhile. Smaller partitions would be removed earlier, but a view opens the files of each one:
with those of a day, a view of a month took four times as long. Sums contain neither networks nor browsers."""

_SETTINGS = (
    f"non_replicated_deduplication_window = {DEDUPLICATION_WINDOW}, ttl_only_drop_parts = 1,"
    " fsync_after_insert = 1, fsync_part_directory = 1,"
    " min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1"
)
"""A partition is merged into one file when nothing has been added to it for a day."""

_REQUESTS = f"""
create table if not exists requests (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  received DateTime64(3, 'UTC') default now64(3) codec(Delta, ZSTD(1)),
  release String codec(ZSTD(1)),
  host String codec(ZSTD(1)),
  method LowCardinality(String),
  path String codec(ZSTD(1)),
  status UInt16 codec(ZSTD(1)),
  bytes_in UInt64 codec(T64, ZSTD(1)),
  bytes_out UInt64 codec(T64, ZSTD(1)),
  duration_ms UInt32 codec(T64, ZSTD(1)),
  first_byte_ms Int32 codec(T64, ZSTD(1)),
  cache LowCardinality(String),
  firewall LowCardinality(String),
  trace_id String codec(ZSTD(1)),
  network String codec(ZSTD(1)),
  tls LowCardinality(String),
  agent LowCardinality(String),
  device LowCardinality(String),
  reason LowCardinality(String),
  function_version String codec(ZSTD(1)),
  cpu_us UInt32 codec(T64, ZSTD(1)),
  memory_kb UInt32 codec(T64, ZSTD(1)),
  index requests_by_trace trace_id type bloom_filter(0.01) granularity 4
) engine = MergeTree
partition by (keep_days, {_WEEK})
order by (site_id, ts)
ttl toDateTime(ts) + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_REQUEST_USAGE = """
alter table requests
  add column if not exists function_version String codec(ZSTD(1)) after reason,
  add column if not exists cpu_us UInt32 codec(T64, ZSTD(1)) after function_version,
  add column if not exists memory_kb UInt32 codec(T64, ZSTD(1)) after cpu_us
"""
"""For tables from before there were functions."""

_REQUEST_MINUTES = f"""
create table if not exists request_minutes (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime('UTC') codec(Delta, ZSTD(1)),
  is_bot UInt8,
  requests SimpleAggregateFunction(sum, UInt64),
  client_errors SimpleAggregateFunction(sum, UInt64),
  errors SimpleAggregateFunction(sum, UInt64),
  bytes_in SimpleAggregateFunction(sum, UInt64),
  bytes_out SimpleAggregateFunction(sum, UInt64),
  cacheable SimpleAggregateFunction(sum, UInt64),
  cached SimpleAggregateFunction(sum, UInt64),
  duration_ms SimpleAggregateFunction(sum, UInt64),
  first_byte AggregateFunction(quantilesTDigest(0.5, 0.75, 0.9, 0.95, 0.99), Int32)
) engine = AggregatingMergeTree
partition by (keep_days, {_MONTH})
order by (site_id, env_id, ts, is_bot, keep_days)
ttl ts + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_REQUEST_MINUTES_VIEW = """
create materialized view if not exists request_minutes_view to request_minutes as
select
  site_id, env_id, keep_days, toDateTime(toStartOfMinute(ts), 'UTC') as ts, device = 'bot' as is_bot,
  count() as requests,
  countIf(status >= 400 and status < 500) as client_errors,
  countIf(status >= 500) as errors,
  sum(r.bytes_in) as bytes_in,
  sum(r.bytes_out) as bytes_out,
  countIf(cache <> '') as cacheable,
  countIf(cache in ('HIT', 'STALE', 'UPDATING', 'REVALIDATED')) as cached,
  sum(r.duration_ms) as duration_ms,
  quantilesTDigestStateIf(0.5, 0.75, 0.9, 0.95, 0.99)(first_byte_ms, first_byte_ms >= 0) as first_byte
from requests as r
group by site_id, env_id, keep_days, ts, is_bot
"""

_REQUEST_HOURS = _REQUEST_MINUTES.replace("request_minutes", "request_hours")

_REQUEST_HOURS_VIEW = """
create materialized view if not exists request_hours_view to request_hours as
select
  site_id, env_id, keep_days, toStartOfHour(m.ts) as ts, is_bot,
  sum(m.requests) as requests,
  sum(m.client_errors) as client_errors,
  sum(m.errors) as errors,
  sum(m.bytes_in) as bytes_in,
  sum(m.bytes_out) as bytes_out,
  sum(m.cacheable) as cacheable,
  sum(m.cached) as cached,
  sum(m.duration_ms) as duration_ms,
  quantilesTDigestMergeState(0.5, 0.75, 0.9, 0.95, 0.99)(m.first_byte) as first_byte
from request_minutes as m
group by site_id, env_id, keep_days, ts, is_bot
"""

_LOGS = f"""
create table if not exists logs (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  received DateTime64(3, 'UTC') default now64(3) codec(Delta, ZSTD(1)),
  severity LowCardinality(String),
  container LowCardinality(String),
  service LowCardinality(String),
  body String codec(ZSTD(1)),
  trace_id String codec(ZSTD(1)),
  index logs_by_word body type text(tokenizer = 'splitByNonAlpha', preprocessor = lower(body))
) engine = MergeTree
partition by (keep_days, {_WEEK})
order by (site_id, ts)
ttl toDateTime(ts) + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_LOG_MINUTES = f"""
create table if not exists log_minutes (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime('UTC') codec(Delta, ZSTD(1)),
  severity LowCardinality(String),
  lines SimpleAggregateFunction(sum, UInt64)
) engine = AggregatingMergeTree
partition by (keep_days, {_MONTH})
order by (site_id, env_id, ts, severity, keep_days)
ttl ts + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_LOG_MINUTES_VIEW = """
create materialized view if not exists log_minutes_view to log_minutes as
select
  site_id, env_id, keep_days, toDateTime(toStartOfMinute(ts), 'UTC') as ts, severity, count() as lines
from logs
group by site_id, env_id, keep_days, ts, severity
"""

_RESOURCES = f"""
create table if not exists resources (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  container LowCardinality(String),
  cpu_ms UInt64 codec(T64, ZSTD(1)),
  elapsed_ms UInt64 codec(T64, ZSTD(1)),
  memory_bytes UInt64 codec(T64, ZSTD(1)),
  memory_limit UInt64 codec(T64, ZSTD(1))
) engine = MergeTree
partition by (keep_days, {_WEEK})
order by (site_id, ts)
ttl toDateTime(ts) + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_RESOURCE_MINUTES = f"""
create table if not exists resource_minutes (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime('UTC') codec(Delta, ZSTD(1)),
  container LowCardinality(String),
  cpu_ms SimpleAggregateFunction(sum, UInt64),
  elapsed_ms SimpleAggregateFunction(sum, UInt64),
  memory_bytes SimpleAggregateFunction(max, UInt64),
  memory_limit SimpleAggregateFunction(max, UInt64)
) engine = AggregatingMergeTree
partition by (keep_days, {_MONTH})
order by (site_id, env_id, ts, container, keep_days)
ttl ts + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_RESOURCE_MINUTES_VIEW = """
create materialized view if not exists resource_minutes_view to resource_minutes as
select
  site_id, env_id, keep_days, toDateTime(toStartOfMinute(r.ts), 'UTC') as ts, container,
  sum(r.cpu_ms) as cpu_ms, sum(r.elapsed_ms) as elapsed_ms,
  max(r.memory_bytes) as memory_bytes, max(r.memory_limit) as memory_limit
from resources as r
group by site_id, env_id, keep_days, ts, container
"""

_VITALS = f"""
create table if not exists vitals (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  release String codec(ZSTD(1)),
  path String codec(ZSTD(1)),
  device LowCardinality(String),
  metric LowCardinality(String),
  value Float32 codec(ZSTD(1))
) engine = MergeTree
partition by (keep_days, {_WEEK})
order by (site_id, ts)
ttl toDateTime(ts) + toIntervalDay(least(keep_days, 7))
settings {_SETTINGS}
"""

_PAGE_HOURS = f"""
create table if not exists page_hours (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime('UTC') codec(Delta, ZSTD(1)),
  metric LowCardinality(String),
  path String codec(ZSTD(1)),
  samples SimpleAggregateFunction(sum, UInt64),
  quantiles AggregateFunction(quantilesTDigest(0.75, 0.9, 0.95, 0.99), Float32)
) engine = AggregatingMergeTree
partition by (keep_days, {_MONTH})
order by (site_id, env_id, metric, ts, path, keep_days)
ttl ts + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_PAGE_HOURS_VIEW = """
create materialized view if not exists page_hours_view to page_hours as
select
  site_id, env_id, keep_days, toDateTime(toStartOfHour(ts), 'UTC') as ts, metric, path, count() as samples,
  quantilesTDigestState(0.75, 0.9, 0.95, 0.99)(value) as quantiles
from vitals
group by site_id, env_id, keep_days, ts, metric, path
"""

_VITAL_HOURS = f"""
create table if not exists vital_hours (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime('UTC') codec(Delta, ZSTD(1)),
  metric LowCardinality(String),
  samples SimpleAggregateFunction(sum, UInt64),
  quantiles AggregateFunction(quantilesTDigest(0.75, 0.9, 0.95, 0.99), Float32)
) engine = AggregatingMergeTree
partition by (keep_days, {_MONTH})
order by (site_id, env_id, metric, ts, keep_days)
ttl ts + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

_VITAL_HOURS_VIEW = """
create materialized view if not exists vital_hours_view to vital_hours as
select
  site_id, env_id, keep_days, toDateTime(toStartOfHour(ts), 'UTC') as ts, metric, count() as samples,
  quantilesTDigestState(0.75, 0.9, 0.95, 0.99)(value) as quantiles
from vitals
group by site_id, env_id, keep_days, ts, metric
"""

_SPANS = f"""
create table if not exists spans (
  site_id String codec(ZSTD(1)),
  env_id String codec(ZSTD(1)),
  keep_days UInt16 codec(ZSTD(1)),
  ts DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  trace_id String codec(ZSTD(1)),
  span_id String codec(ZSTD(1)),
  parent_id String codec(ZSTD(1)),
  service LowCardinality(String),
  name String codec(ZSTD(1)),
  duration_us UInt64 codec(T64, ZSTD(1)),
  status LowCardinality(String),
  status_code UInt16 codec(ZSTD(1)),
  index spans_by_trace trace_id type bloom_filter(0.01) granularity 4
) engine = MergeTree
partition by (keep_days, {_WEEK})
order by (site_id, ts)
ttl toDateTime(ts) + toIntervalDay(keep_days)
settings {_SETTINGS}
"""

TABLES = (
    *("requests", "request_minutes", "request_hours", "logs", "log_minutes", "resources"),
    *("resource_minutes", "vitals", "vital_hours", "page_hours", "spans"),
)
"""Those with rows of sites."""
STATEMENTS = (
    *(
        _REQUESTS,
        _REQUEST_USAGE,
        _REQUEST_MINUTES,
        _REQUEST_HOURS,
        _REQUEST_HOURS_VIEW,
        _REQUEST_MINUTES_VIEW,
    ),
    *(_LOGS, _LOG_MINUTES, _LOG_MINUTES_VIEW),
    *(_RESOURCES, _RESOURCE_MINUTES, _RESOURCE_MINUTES_VIEW),
    *(_VITALS, _VITAL_HOURS, _VITAL_HOURS_VIEW, _PAGE_HOURS, _PAGE_HOURS_VIEW),
    _SPANS,
)
MAX_DAYS: dict[StreamName, int] = {"requests": 180, "logs": 30, "resources": 15, "vitals": 180, "spans": 30}
"""Whatever the plan says."""


async def create_tables(clickhouse: ClickHouse) -> None:
    await clickhouse.execute(f"create database if not exists {clickhouse.database}", in_database=False)
    for statement in STATEMENTS:
        await clickhouse.execute(statement)
