"""The use cases of insights. What PostgreSQL knows is read first; ClickHouse is asked when the connection to
it is released."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stead.control.engines.postgres import DATABASE_FAILED
from stead.control.environments import service as environments
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Call, Later, Stream
from stead.control.insights import (
    live,
    log_views,
    metric_views,
    request_views,
    resource_views,
    store,
    trace_views,
    vital_views,
    windows,
)
from stead.control.insights.queries import (
    Condition,
    Reader,
    Scope,
    Window,
    scope_of_environment,
    scope_of_site,
    scope_of_sites,
)
from stead.control.insights.rules import InsightsUnavailable, ReadableSites
from stead.control.insights.schema.logs import (
    LogFilter,
    LogLineView,
    LogsView,
    LogTailFilter,
    LogVolumeFilter,
    LogVolumeView,
)
from stead.control.insights.schema.metrics import MetricFilter, MetricView
from stead.control.insights.schema.requests import (
    RequestFilter,
    RequestsView,
    RequestView,
    RequestVolumeFilter,
    RequestVolumeView,
)
from stead.control.insights.schema.resources import ResourceFilter, ResourcesView
from stead.control.insights.schema.traces import (
    MAX_TRACE_HOURS,
    RecentTraceFilter,
    TraceFilter,
    TracesView,
    TraceView,
)
from stead.control.insights.schema.vitals import (
    PagesFilter,
    PagesView,
    SummaryView,
    TimeseriesView,
    VitalFilter,
    WindowFilter,
)
from stead.control.insights.store import Completeness
from stead.control.sites.rules import VisibleSite
from stead.control.teams.rules import VisibleTeam
from stead.protocol.telemetry import StreamName

SITES_SECONDS = 15.0
"""So long a stream about all sites of a caller uses the same list of them."""

Resource = VisibleSite | VisibleEnvironment


Streams = tuple[StreamName, ...]
"""What an answer is made of."""

F = TypeVar("F", bound=windows.Windowed)
V = TypeVar("V")

View = Callable[[Reader, Scope, Window, F, Completeness], Awaitable[V]]


def wants_stream(call: Call) -> bool:
    return "text/event-stream" in call.request.header(b"accept")


async def follow_requests(call: Call, resource: Resource, wanted: RequestFilter) -> Stream:
    scope, clickhouse = await _scope_of(call, resource), _reader(call)

    async def look(window: Window, condition: Condition) -> Sequence[RequestView]:
        limit = live.MAX_ROWS + 1
        return await request_views.list_requests(clickhouse, scope, window, wanted, limit, condition)

    return Stream(live.follow("request", look, call.context.database.now))


async def follow_logs(call: Call, resource: Resource, wanted: LogFilter) -> Stream:
    scope = await _scope_of(call, resource)

    async def current() -> Scope:
        return scope

    return _follow_lines(call, current, wanted)


async def follow_all_logs(call: Call, wanted: LogTailFilter) -> Stream:
    """Of the sites that the caller sees at the time."""
    database, caller = call.context.database, call.caller
    scope = scope_of_sites(await store.list_visible_sites(call.tx, caller))
    read_at = time.monotonic()

    async def current() -> Scope:
        nonlocal scope, read_at
        if time.monotonic() - read_at >= SITES_SECONDS:
            began = time.monotonic()
            try:
                async with database.reading() as tx:
                    scope = scope_of_sites(await store.list_visible_sites(tx, caller))
            except DATABASE_FAILED:
                raise InsightsUnavailable from None
            read_at = began
        return scope

    return _follow_lines(call, current, wanted)


def _follow_lines(
    call: Call, current: Callable[[], Awaitable[Scope]], wanted: LogFilter | LogTailFilter
) -> Stream:
    clickhouse = _reader(call)

    async def look(window: Window, condition: Condition) -> Sequence[LogLineView]:
        scope, limit = await current(), live.MAX_ROWS + 1
        return await log_views.list_lines(clickhouse, scope, window, wanted, limit, condition)

    return Stream(live.follow("line", look, call.context.database.now))


async def requests(call: Call, resource: Resource, wanted: RequestFilter) -> Later[RequestsView]:
    return await _read_later(call, resource, wanted, ("requests",), request_views.read_requests)


async def request_volume(
    call: Call, resource: Resource, wanted: RequestVolumeFilter
) -> Later[RequestVolumeView]:
    return await _read_later(call, resource, wanted, ("requests",), request_views.read_volume)


async def logs(call: Call, resource: Resource, wanted: LogFilter) -> Later[LogsView]:
    return await _read_later(call, resource, wanted, ("logs",), log_views.read_logs)


async def log_volume(call: Call, resource: Resource, wanted: LogVolumeFilter) -> Later[LogVolumeView]:
    return await _read_later(call, resource, wanted, ("logs",), log_views.read_volume)


async def resources(call: Call, resource: Resource, wanted: ResourceFilter) -> Later[ResourcesView]:
    return await _read_later(call, resource, wanted, ("resources", "requests"), resource_views.read_resources)


async def tail_all_logs(call: Call, wanted: LogTailFilter) -> Later[LogsView]:
    return await _read_all_later(call, wanted, ("logs",), log_views.read_logs)


async def count_all_logs(call: Call, wanted: LogVolumeFilter) -> Later[LogVolumeView]:
    return await _read_all_later(call, wanted, ("logs",), log_views.read_volume)


async def metric_series(call: Call, wanted: MetricFilter) -> Later[MetricView]:
    return await _read_all_later(call, wanted, ("requests",), metric_views.read_series)


async def summary(call: Call, resource: Resource, wanted: WindowFilter) -> Later[SummaryView]:
    return await _read_later(call, resource, wanted, ("vitals", "requests"), vital_views.read_summary)


async def summary_of_team(call: Call, team: VisibleTeam, wanted: WindowFilter) -> Later[SummaryView]:
    sites = await store.list_visible_sites_of_team(call.tx, call.caller, team)
    return await _read_sites_later(call, sites, wanted, ("vitals", "requests"), vital_views.read_summary)


async def timeseries(call: Call, resource: Resource, wanted: VitalFilter) -> Later[TimeseriesView]:
    return await _read_later(call, resource, wanted, ("vitals",), vital_views.read_timeseries)


async def pages(call: Call, resource: Resource, wanted: PagesFilter) -> Later[PagesView]:
    return await _read_later(call, resource, wanted, ("vitals",), vital_views.read_pages)


async def traces(call: Call, resource: Resource, wanted: TraceFilter) -> Later[TracesView]:
    return await _read_later(call, resource, wanted, ("spans",), trace_views.read_traces)


async def trace(call: Call, resource: Resource, trace_id: str) -> Later[TraceView]:
    scope, window = await _scope_of(call, resource), Window.of_hours(call.tx.now, MAX_TRACE_HOURS)
    return Later(lambda: trace_views.read_trace(_reader(call), scope, window, trace_id))


async def recent_traces(call: Call, wanted: RecentTraceFilter) -> Later[TracesView]:
    return await _read_all_later(call, wanted, ("spans",), trace_views.read_traces)


async def _read_later(
    call: Call, resource: Resource, wanted: F, streams: Streams, read: View[F, V]
) -> Later[V]:
    scope = await _scope_of(call, resource)
    window = windows.read_window(call.tx.now, wanted)
    known = await store.get_completeness(call.tx, scope, streams, window)
    return Later(lambda: read(_reader(call), scope, window, wanted, known))


async def _read_all_later(call: Call, wanted: F, streams: Streams, read: View[F, V]) -> Later[V]:
    """About all sites that the caller can see."""
    sites = await store.list_visible_sites(call.tx, call.caller)
    return await _read_sites_later(call, sites, wanted, streams, read)


async def _read_sites_later(
    call: Call, sites: ReadableSites, wanted: F, streams: Streams, read: View[F, V]
) -> Later[V]:
    scope, window = scope_of_sites(sites), windows.read_window(call.tx.now, wanted)
    known = await store.get_completeness(call.tx, scope, streams, window)
    known = known._replace(truncated=sites.truncated)
    return Later(lambda: read(_reader(call), scope, window, wanted, known))


async def _scope_of(call: Call, resource: Resource) -> Scope:
    match resource:
        case VisibleEnvironment():
            return scope_of_environment(resource)
        case VisibleSite():
            return scope_of_site(resource, await environments.get_production(call.tx, resource.id))


def _reader(call: Call) -> Reader:
    return call.context.clickhouse.of_account(call.caller.account_id)
