"""The use cases of insights. What PostgreSQL knows is read first; ClickHouse is asked when the connection to
it is released."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from stead.control.environments import service as environments
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.insights import request_views, store
from stead.control.insights.queries import ClickHouse, Scope, Window, scope_of_environment, scope_of_site
from stead.control.insights.schema import (
    RequestFilter,
    RequestsView,
    RequestVolumeFilter,
    RequestVolumeView,
)
from stead.control.insights.store import Completeness
from stead.control.sites.rules import VisibleSite

F = TypeVar("F", RequestFilter, RequestVolumeFilter)
V = TypeVar("V")

Reader = Callable[[ClickHouse, Scope, Window, F, Completeness], Awaitable[V]]


async def requests(
    call: Call, resource: VisibleSite | VisibleEnvironment, wanted: RequestFilter
) -> Later[RequestsView]:
    return await _read_later(call, resource, wanted, request_views.read_requests)


async def request_volume(
    call: Call, resource: VisibleSite | VisibleEnvironment, wanted: RequestVolumeFilter
) -> Later[RequestVolumeView]:
    return await _read_later(call, resource, wanted, request_views.read_volume)


async def _read_later(
    call: Call, resource: VisibleSite | VisibleEnvironment, wanted: F, read: Reader[F, V]
) -> Later[V]:
    scope = await _scope_of(call, resource)
    window = Window.of_hours(call.tx.now, wanted.hours)
    known = await store.get_completeness(call.tx, scope, "requests", window)
    return Later(lambda: read(call.context.clickhouse, scope, window, wanted, known))


async def _scope_of(call: Call, resource: VisibleSite | VisibleEnvironment) -> Scope:
    if isinstance(resource, VisibleEnvironment):
        return scope_of_environment(resource)
    return scope_of_site(resource, await environments.get_production(call.tx, resource.id))
