"""HTTP operations that read what happens on sites. Each is for a site, and again for an environment."""

from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Later, Operations
from stead.control.insights import service
from stead.control.insights.rules import InsightsUnavailable, WindowTooExpensive
from stead.control.insights.schema import (
    RequestFilter,
    RequestsView,
    RequestVolumeFilter,
    RequestVolumeView,
)
from stead.control.sites.rules import SiteNotFound, VisibleSite

operation = Operations(tag="Insights")

SCOPE = "observability:read"
SITE, ENVIRONMENT = "/v1/sites/{site_id}/insights", "/v1/sites/{site_id}/environments/{env_id}/insights"
OF_SITE = [SiteNotFound, InsightsUnavailable, WindowTooExpensive]
OF_ENVIRONMENT = [EnvironmentNotFound, InsightsUnavailable, WindowTooExpensive]


@operation(f"GET {SITE}/requests", id="insights.requests", scope=SCOPE, errors=OF_SITE)
@operation(
    f"GET {ENVIRONMENT}/requests",
    id="insights.requests_of_environment",
    scope=SCOPE,
    resources={"resource": VisibleEnvironment},
    errors=OF_ENVIRONMENT,
)
async def list_requests(call: Call, resource: VisibleSite, query: RequestFilter) -> Later[RequestsView]:
    """List the latest requests of visitors.

    For a site, those of its production environment. Every request is there, none are sampled. Addresses are
    cut to networks, and query strings are not recorded.
    """
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
