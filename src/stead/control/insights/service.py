"""The use cases of insights. What PostgreSQL knows is read first; ClickHouse is asked when the connection to
it is released."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from stead.control.environments import service as environments
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Call, Later, Stream
from stead.control.insights import live, log_views, metric_views, request_views, resource_views, store
from stead.control.insights.queries import (
    ClickHouse,
    Condition,
    Scope,
    Window,
    scope_of_environment,
    scope_of_site,
    scope_of_sites,
)
from stead.control.insights.schema import (
    LogFilter,
    LogLineView,
    LogsView,
    LogTailFilter,
    LogVolumeFilter,
    LogVolumeView,
    MetricFilter,
    MetricView,
    RequestFilter,
    RequestsView,
    RequestView,
    RequestVolumeFilter,
    RequestVolumeView,
    ResourceFilter,
    ResourcesView,
)
from stead.control.insights.store import Completeness
from stead.control.sites.rules import VisibleSite
from stead.protocol.telemetry import StreamName

Resource = VisibleSite | VisibleEnvironment


class _Windowed(Protocol):
    @property
    def hours(self) -> int: ...


F = TypeVar("F", bound=_Windowed)
V = TypeVar("V")

Reader = Callable[[ClickHouse, Scope, Window, F, Completeness], Awaitable[V]]


def wants_stream(call: Call) -> bool:
    return "text/event-stream" in call.request.header(b"accept")


async def follow_requests(call: Call, resource: Resource, wanted: RequestFilter) -> Stream:
    scope, clickhouse = await _scope_of(call, resource), call.context.clickhouse

    async def look(window: Window, condition: Condition) -> Sequence[RequestView]:
        limit = live.MAX_ROWS + 1
        return await request_views.list_requests(clickhouse, scope, window, wanted, limit, condition)

    return Stream(live.follow("request", look, call.context.database.now))


async def follow_logs(call: Call, resource: Resource, wanted: LogFilter) -> Stream:
    return _follow_lines(call, await _scope_of(call, resource), wanted)


async def follow_all_logs(call: Call, wanted: LogTailFilter) -> Stream:
    """Of the sites that the caller sees when the stream begins."""
    sites = await store.list_visible_sites(call.tx, call.caller)
    return _follow_lines(call, scope_of_sites(sites), wanted)


def _follow_lines(call: Call, scope: Scope, wanted: LogFilter | LogTailFilter) -> Stream:
    clickhouse = call.context.clickhouse

    async def look(window: Window, condition: Condition) -> Sequence[LogLineView]:
        limit = live.MAX_ROWS + 1
        return await log_views.list_lines(clickhouse, scope, window, wanted, limit, condition)

    return Stream(live.follow("line", look, call.context.database.now))


async def requests(call: Call, resource: Resource, wanted: RequestFilter) -> Later[RequestsView]:
    return await _read_later(call, resource, wanted, "requests", request_views.read_requests)


async def request_volume(
    call: Call, resource: Resource, wanted: RequestVolumeFilter
) -> Later[RequestVolumeView]:
    return await _read_later(call, resource, wanted, "requests", request_views.read_volume)


async def logs(call: Call, resource: Resource, wanted: LogFilter) -> Later[LogsView]:
    return await _read_later(call, resource, wanted, "logs", log_views.read_logs)


async def log_volume(call: Call, resource: Resource, wanted: LogVolumeFilter) -> Later[LogVolumeView]:
    return await _read_later(call, resource, wanted, "logs", log_views.read_volume)


async def resources(call: Call, resource: Resource, wanted: ResourceFilter) -> Later[ResourcesView]:
    return await _read_later(call, resource, wanted, "requests", resource_views.read_resources)


async def tail_all_logs(call: Call, wanted: LogTailFilter) -> Later[LogsView]:
    return await _read_all_later(call, wanted, "logs", log_views.read_logs)


async def count_all_logs(call: Call, wanted: LogVolumeFilter) -> Later[LogVolumeView]:
    return await _read_all_later(call, wanted, "logs", log_views.read_volume)


async def metric_series(call: Call, wanted: MetricFilter) -> Later[MetricView]:
    return await _read_all_later(call, wanted, "requests", metric_views.read_series)


async def _read_later(
    call: Call, resource: Resource, wanted: F, stream: StreamName, read: Reader[F, V]
) -> Later[V]:
    scope = await _scope_of(call, resource)
    window = Window.of_hours(call.tx.now, wanted.hours)
    known = await store.get_completeness(call.tx, scope, stream, window)
    return Later(lambda: read(call.context.clickhouse, scope, window, wanted, known))


async def _read_all_later(call: Call, wanted: F, stream: StreamName, read: Reader[F, V]) -> Later[V]:
    """About all sites that the caller can see."""
    sites = await store.list_visible_sites(call.tx, call.caller)
    scope, window = scope_of_sites(sites), Window.of_hours(call.tx.now, wanted.hours)
    known = await store.get_completeness(call.tx, scope, stream, window)
    known = known._replace(truncated=sites.truncated)
    return Later(lambda: read(call.context.clickhouse, scope, window, wanted, known))


async def _scope_of(call: Call, resource: Resource) -> Scope:
    if isinstance(resource, VisibleEnvironment):
        return scope_of_environment(resource)
    return scope_of_site(resource, await environments.get_production(call.tx, resource.id))
