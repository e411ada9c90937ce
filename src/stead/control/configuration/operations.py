"""HTTP operations on configuration."""

from stead.control.configuration import service
from stead.control.configuration.schema import (
    ConfigurationChange,
    ConfigurationView,
    EnvironmentConfigurationView,
    UnchangedView,
)
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite

operation = Operations(tag="Edge")

_ENVIRONMENT = "/v1/sites/{site_id}/environments/{env_id}"


@operation("GET /v1/sites/{site_id}/config", id="sites.config_get", scope="sites:read", errors=[SiteNotFound])
async def get_configuration(call: Call, site: VisibleSite) -> ConfigurationView:
    """Read the configuration of a site. Its environments inherit it."""
    return await service.view_of_site(call.tx, site.id)


@operation(
    "PATCH /v1/sites/{site_id}/config",
    id="sites.config_update",
    scope="sites:write",
    job="site.config_apply",
    audit="site_config_patch",
    errors=[SiteNotFound, SiteBusy, JobsWaiting],
)
async def change_configuration(
    call: Call, site: VisibleSite, body: ConfigurationChange
) -> JobView | UnchangedView:
    """Change the configuration of a site.

    Fields that are not sent keep their value; null restores the default. When the job has succeeded, every
    edge of the region applies the change, and a probe has shown that the site still answers. If the job
    fails, nothing has changed. A request that names no setting is answered with status 200 and changes
    nothing.
    """
    return await service.configure_site(call.tx, site, body, call.sealer, call.context.base_url)


@operation(
    f"GET {_ENVIRONMENT}/config",
    id="environments.config_get",
    scope="environments:read",
    errors=[EnvironmentNotFound],
)
async def get_environment_configuration(
    call: Call, environment: VisibleEnvironment
) -> EnvironmentConfigurationView:
    """Read the configuration that an environment inherits, overrides and effectively uses."""
    return await service.view_of_environment(call.tx, environment.site_id, environment.id)


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
) -> JobView | UnchangedView:
    """Change the configuration of an environment.

    Fields that are not sent keep their value; null inherits the value of the site again. A request
    that names no setting is answered with status 200 and changes nothing.
    """
    return await service.configure_environment(call.tx, environment, body, call.sealer, call.context.base_url)
