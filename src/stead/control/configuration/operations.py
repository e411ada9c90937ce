"""HTTP operations on configuration, redirects and the page cache."""

from stead.control.cache.schema import NewPurge
from stead.control.configuration import edge_service as service
from stead.control.configuration import service as configuration
from stead.control.configuration import workflows
from stead.control.configuration.schema import (
    ConfigurationChange,
    ConfigurationView,
    EnvironmentConfigurationView,
)
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.jobs.declaration import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.redirects import service as redirects
from stead.control.redirects.schema import NewRedirects, RedirectsView
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite

operation = Operations(tag="Edge")

_ENVIRONMENT = "/v1/sites/{site_id}/environments/{env_id}"


@operation("GET /v1/sites/{site_id}/config", id="sites.config_get", scope="sites:read", errors=[SiteNotFound])
async def get_configuration(call: Call, site: VisibleSite) -> ConfigurationView:
    """Read how a site is configured. Its environments inherit it."""
    return await configuration.view_of_site(call.tx, site.id)


@operation(
    "PATCH /v1/sites/{site_id}/config",
    id="sites.config_update",
    scope="sites:write",
    job="site.config_apply",
    audit="site_config_patch",
    errors=[SiteNotFound, SiteBusy, JobsWaiting],
)
async def change_configuration(call: Call, site: VisibleSite, body: ConfigurationChange) -> JobView:
    """Change how a site is configured.

    What is not named stays; null goes back to the default. When the job has succeeded, every edge of the
    region goes by it, and a request has shown that the site still answers; else nothing has changed.
    """
    return await service.configure_site(call.tx, site, body, call.sealer, kind=workflows.CONFIGURE_SITE)


@operation(
    f"GET {_ENVIRONMENT}/config",
    id="environments.config_get",
    scope="environments:read",
    errors=[EnvironmentNotFound],
)
async def get_environment_configuration(
    call: Call, environment: VisibleEnvironment
) -> EnvironmentConfigurationView:
    """Read what an environment inherits, what is set on it, and what it runs with."""
    return await configuration.view_of_environment(call.tx, environment.site_id, environment.id)


@operation(
    f"PATCH {_ENVIRONMENT}/config",
    id="environments.config_update",
    scope="environments:write",
    job="environment.config_apply",
    audit="environment_config_patch",
    errors=[EnvironmentNotFound, SiteBusy, JobsWaiting],
)
async def change_environment_configuration(
    call: Call, environment: VisibleEnvironment, body: ConfigurationChange
) -> JobView:
    """Change what is set on an environment. What is not named stays; null inherits again."""
    return await service.configure_environment(
        call.tx, environment, body, call.sealer, kind=workflows.CONFIGURE_ENVIRONMENT
    )


@operation(
    "GET /v1/sites/{site_id}/redirects",
    id="sites.redirects_get",
    scope="redirects:read",
    errors=[SiteNotFound],
)
async def get_redirects(call: Call, site: VisibleSite) -> RedirectsView:
    """Read all redirects of a site."""
    return RedirectsView(await redirects.rules(call.tx, site.id))


@operation(
    "PUT /v1/sites/{site_id}/redirects",
    id="sites.redirects_replace",
    scope="redirects:write",
    job="job.redirects_apply",
    errors=[SiteNotFound, SiteBusy, JobsWaiting],
)
async def replace_redirects(call: Call, site: VisibleSite, body: NewRedirects) -> JobView:
    """Replace all redirects of a site.

    A rule that names a path comes before those that end in `*`, and of those the longest counts; the order of
    the rules does not matter. Rules that would send a visitor in a circle are refused.
    """
    return await service.replace_redirects(call.tx, site, body, kind=workflows.REPLACE_REDIRECTS)


@operation(
    f"POST {_ENVIRONMENT}/cache/purge",
    id="cache.purge",
    scope="cache:write",
    job="job.cache_purge",
    errors=[EnvironmentNotFound, SiteBusy, JobsWaiting],
)
async def purge_cache(call: Call, environment: VisibleEnvironment, body: NewPurge | None) -> JobView:
    """Purge pages from the cache of an environment: all, those of a URL, or those that carry a tag.

    When the job has succeeded, no visitor is given an older copy, not even one that was being fetched.
    """
    return await service.purge(call.tx, environment, body, kind=workflows.PURGE_CACHE)
