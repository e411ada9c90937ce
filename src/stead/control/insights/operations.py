"""HTTP operations that read what happens on sites. Each is for a site, and again for an environment."""

from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Later, Operations, Stream
from stead.control.insights import service, storage
from stead.control.insights.rules import InsightsUnavailable, WindowTooExpensive
from stead.control.insights.schema import (
    LogFilter,
    LogsView,
    LogTailFilter,
    LogVolumeFilter,
    LogVolumeView,
    MetricFilter,
    MetricView,
    RequestFilter,
    RequestsView,
    RequestVolumeFilter,
    RequestVolumeView,
    ResourceFilter,
    ResourcesView,
    StorageFilter,
    StorageView,
)
from stead.control.sites.rules import SiteNotFound, VisibleSite

operation = Operations(tag="Insights")

SCOPE = "observability:read"
SITE, ENVIRONMENT = "/v1/sites/{site_id}/insights", "/v1/sites/{site_id}/environments/{env_id}/insights"
OF_SITE = [SiteNotFound, InsightsUnavailable, WindowTooExpensive]
OF_ACCOUNT = [InsightsUnavailable, WindowTooExpensive]
OF_ENVIRONMENT = [EnvironmentNotFound, InsightsUnavailable, WindowTooExpensive]


@operation(f"GET {SITE}/requests", id="insights.requests", scope=SCOPE, errors=OF_SITE)
@operation(
    f"GET {ENVIRONMENT}/requests",
    id="insights.requests_of_environment",
    scope=SCOPE,
    resources={"resource": VisibleEnvironment},
    errors=OF_ENVIRONMENT,
)
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


@operation(f"GET {SITE}/requests/volume", id="insights.requests_volume", scope=SCOPE, errors=OF_SITE)
@operation(
    f"GET {ENVIRONMENT}/requests/volume",
    id="insights.requests_volume_of_environment",
    scope=SCOPE,
    resources={"resource": VisibleEnvironment},
    errors=OF_ENVIRONMENT,
)
async def count_requests(
    call: Call, resource: VisibleSite, query: RequestVolumeFilter
) -> Later[RequestVolumeView]:
    """Count the requests and errors over time.

    For a site, those of its production environment.
    """
    return await service.request_volume(call, resource, query)


@operation(f"GET {SITE}/logs", id="insights.logs", scope=SCOPE, errors=OF_SITE)
@operation(
    f"GET {ENVIRONMENT}/logs",
    id="insights.logs_of_environment",
    scope=SCOPE,
    resources={"resource": VisibleEnvironment},
    errors=OF_ENVIRONMENT,
)
async def list_log_lines(call: Call, resource: VisibleSite, query: LogFilter) -> Later[LogsView] | Stream:
    """List the latest log lines of the application.

    For a site, those of its production environment. Static sites have no application, and no lines.

    With `Accept: text/event-stream`: an event `line` for each new one that meets the filters.
    """
    if service.wants_stream(call):
        return await service.follow_logs(call, resource, query)
    return await service.logs(call, resource, query)


@operation(f"GET {SITE}/logs/volume", id="insights.logs_volume", scope=SCOPE, errors=OF_SITE)
@operation(
    f"GET {ENVIRONMENT}/logs/volume",
    id="insights.logs_volume_of_environment",
    scope=SCOPE,
    resources={"resource": VisibleEnvironment},
    errors=OF_ENVIRONMENT,
)
async def count_log_lines(call: Call, resource: VisibleSite, query: LogVolumeFilter) -> Later[LogVolumeView]:
    """Count the log lines over time, by severity.

    For a site, those of its production environment.
    """
    return await service.log_volume(call, resource, query)


@operation(f"GET {SITE}/resources", id="insights.resources", scope=SCOPE, errors=OF_SITE)
@operation(
    f"GET {ENVIRONMENT}/resources",
    id="insights.resources_of_environment",
    scope=SCOPE,
    resources={"resource": VisibleEnvironment},
    errors=OF_ENVIRONMENT,
)
async def get_resources(call: Call, resource: VisibleSite, query: ResourceFilter) -> Later[ResourcesView]:
    """Get what the containers use, and how the application answers, over time.

    For a site, those of its production environment.
    """
    return await service.resources(call, resource, query)


@operation("GET /v1/logs", id="logs.tail", scope=SCOPE, errors=OF_ACCOUNT)
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
