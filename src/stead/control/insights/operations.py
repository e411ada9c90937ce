"""HTTP operations that read what happens on sites. Each is for a site, and again for an environment."""

from collections.abc import Callable, Mapping

from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Frame, Handler, Later, Operations, Stream
from stead.control.insights import service, storage
from stead.control.insights.rules import InsightsUnavailable, WindowTooExpensive
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
from stead.control.insights.schema.storage import StorageFilter, StorageView
from stead.control.insights.schema.streams import StreamError, StreamTruncated
from stead.control.insights.schema.traces import RecentTraceFilter, TraceFilter, TracesView, TraceView
from stead.control.insights.schema.vitals import (
    PagesFilter,
    PagesView,
    SummaryView,
    TimeseriesView,
    VitalFilter,
    WindowFilter,
)
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.teams.rules import TeamNotFound, VisibleTeam

operation = Operations(tag="Insights")

SCOPE = "observability:read"
OF_ACCOUNT = [InsightsUnavailable, WindowTooExpensive]
_OF_ALL_STREAMS = {
    "truncated": Frame(StreamTruncated, "More arrived at once than is shown."),
    "error": Frame(StreamError, "What is new could not be read. The stream goes on by itself."),
}
REQUEST_FRAMES = {"request": Frame(RequestView, "A new request."), **_OF_ALL_STREAMS}
LINE_FRAMES = {"line": Frame(LogLineView, "A new line."), **_OF_ALL_STREAMS}


def _view(
    path: str,
    *,
    id: str,  # noqa: A002 - the name in the API description
    frames: Mapping[str, Frame] | None = None,
) -> Callable[[Handler], Handler]:
    """Declares a view of a site, and again of an environment."""
    of_site = operation(
        f"GET /v1/sites/{{site_id}}/insights{path}",
        id=id,
        scope=SCOPE,
        frames=frames,
        errors=[SiteNotFound, *OF_ACCOUNT],
    )
    of_environment = operation(
        f"GET /v1/sites/{{site_id}}/environments/{{env_id}}/insights{path}",
        id=f"{id}_of_environment",
        scope=SCOPE,
        resources={"resource": VisibleEnvironment},
        frames=frames,
        errors=[EnvironmentNotFound, *OF_ACCOUNT],
    )

    def declare(handler: Handler) -> Handler:
        return of_site(of_environment(handler))

    return declare


@_view("/summary", id="insights.summary")
async def get_summary(call: Call, resource: VisibleSite, query: WindowFilter) -> Later[SummaryView]:
    """Get the web vitals, and how fast the server answers.

    For a site, those of its production environment. Percentiles are of page views; with fewer than 50 of them
    they are `null`.
    """
    return await service.summary(call, resource, query)


@_view("/timeseries", id="insights.timeseries")
async def get_timeseries(call: Call, resource: VisibleSite, query: VitalFilter) -> Later[TimeseriesView]:
    """Get one of the web vitals over time.

    For a site, that of its production environment.
    """
    return await service.timeseries(call, resource, query)


@_view("/pages", id="insights.pages")
async def list_pages(call: Call, resource: VisibleSite, query: PagesFilter) -> Later[PagesView]:
    """List the pages with one of their web vitals.

    For a site, those of its production environment.
    """
    return await service.pages(call, resource, query)


@_view("/traces", id="insights.traces")
async def list_spans(call: Call, resource: VisibleSite, query: TraceFilter) -> Later[TracesView]:
    """List the latest spans of traced requests.

    For a site, those of its production environment. `trace_sample_rate` says how many requests of the
    application are traced. Requests that fail or take longer than a second always are.
    """
    return await service.traces(call, resource, query)


@_view("/traces/{trace_id}", id="insights.trace")
async def get_trace(call: Call, resource: VisibleSite, trace_id: str) -> Later[TraceView]:
    """Get a trace, span by span.

    For a site, one of its production environment. A request that was not traced has no spans, nor has one
    whose spans have not arrived yet.
    """
    return await service.trace(call, resource, trace_id)


@_view("/requests", id="insights.requests", frames=REQUEST_FRAMES)
async def list_requests(
    call: Call, resource: VisibleSite, query: RequestFilter
) -> Later[RequestsView] | Stream:
    """List the latest requests of visitors.

    For a site, those of its production environment. Every request is there, none are sampled. Addresses are
    cut to networks, and query strings are not recorded.

    With `Accept: text/event-stream`: an event `request` for each new one that meets the filters.
    """
    if service.wants_stream(call):
        return await service.follow_requests(call, resource, query)
    return await service.requests(call, resource, query)


@_view("/requests/volume", id="insights.requests_volume")
async def count_requests(
    call: Call, resource: VisibleSite, query: RequestVolumeFilter
) -> Later[RequestVolumeView]:
    """Count the requests and errors over time.

    For a site, those of its production environment.
    """
    return await service.request_volume(call, resource, query)


@_view("/logs", id="insights.logs", frames=LINE_FRAMES)
async def list_log_lines(call: Call, resource: VisibleSite, query: LogFilter) -> Later[LogsView] | Stream:
    """List the latest log lines of the application.

    For a site, those of its production environment. Static sites have no application, and no lines.

    With `Accept: text/event-stream`: an event `line` for each new one that meets the filters.
    """
    if service.wants_stream(call):
        return await service.follow_logs(call, resource, query)
    return await service.logs(call, resource, query)


@_view("/logs/volume", id="insights.logs_volume")
async def count_log_lines(call: Call, resource: VisibleSite, query: LogVolumeFilter) -> Later[LogVolumeView]:
    """Count the log lines over time, by severity.

    For a site, those of its production environment.
    """
    return await service.log_volume(call, resource, query)


@_view("/resources", id="insights.resources")
async def get_resources(call: Call, resource: VisibleSite, query: ResourceFilter) -> Later[ResourcesView]:
    """Get what the containers use, and how the application answers, over time.

    For a site, those of its production environment.
    """
    return await service.resources(call, resource, query)


@operation("GET /v1/logs", id="logs.tail", scope=SCOPE, frames=LINE_FRAMES, errors=OF_ACCOUNT)
async def tail_logs(call: Call, query: LogTailFilter) -> Later[LogsView] | Stream:
    """List the latest log lines of all your sites.

    Those of the production environments of up to 1,000 sites, the newest ones. With
    `Accept: text/event-stream`: an event `line` for each new one that meets the filters.
    """
    if service.wants_stream(call):
        return await service.follow_all_logs(call, query)
    return await service.tail_all_logs(call, query)


@operation("GET /v1/logs/volume", id="logs.volume", scope=SCOPE, errors=OF_ACCOUNT)
async def count_all_log_lines(call: Call, query: LogVolumeFilter) -> Later[LogVolumeView]:
    """Count the log lines of all your sites over time, by severity."""
    return await service.count_all_logs(call, query)


@operation("GET /v1/metrics", id="metrics.series", scope=SCOPE, errors=OF_ACCOUNT)
async def get_series(call: Call, query: MetricFilter) -> Later[MetricView]:
    """Get a metric of all your sites over time.

    Of the production environments of up to 1,000 sites, the newest ones.
    """
    return await service.metric_series(call, query)


@operation("GET /v1/usage/storage", id="usage.storage", scope=SCOPE)
async def get_storage(call: Call, query: StorageFilter) -> StorageView:
    """Get how much each of your sites stores.

    Of up to 1,000 sites, the newest ones: now, and on each of the last 30 days.
    """
    return await storage.get_storage(call, query)


@operation("GET /v1/traces", id="traces.recent", scope=SCOPE, errors=OF_ACCOUNT)
async def list_recent_spans(call: Call, query: RecentTraceFilter) -> Later[TracesView]:
    """List the latest spans of traced requests of all your sites.

    Of the production environments of up to 1,000 sites, the newest ones.
    """
    return await service.recent_traces(call, query)


@operation(
    "GET /v1/teams/{team_id}/insights/summary",
    id="teams.insights_summary",
    scope=SCOPE,
    errors=[TeamNotFound, *OF_ACCOUNT],
)
async def get_team_summary(call: Call, team: VisibleTeam, query: WindowFilter) -> Later[SummaryView]:
    """Get the web vitals of all sites of a team, and how fast the server answers.

    Of the production environments of up to 1,000 sites, the newest ones, that your role and your credential
    can see.
    """
    return await service.summary_of_team(call, team, query)
