"""HTTP operations on plugins and themes."""

from stead.control.components import service
from stead.control.components.rules import (
    ComponentFixed,
    ComponentInGit,
    ComponentNotFound,
    ComponentVulnerable,
)
from stead.control.components.schema import (
    ComponentBatch,
    ComponentFilter,
    ComponentUpdate,
    ComponentView,
    NewComponent,
)
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.environments.twins import TwinOperations
from stead.control.http.operations import Call, Later, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.question_rules import QUESTION_ERRORS
from stead.control.sites.rules import SiteBusy
from stead.shared.errors import ApiError, CapabilityUnsupported

operation = Operations(tag="Components")
_twice = TwinOperations(operation)

_READ = "cms.plugins:read|cms.themes:read"
_WRITE = "cms.plugins:write|cms.themes:write"
_PLUGINS = "components.plugins"
_ONE = "/components/{component_id}"
_CHANGING: tuple[type[ApiError], ...] = (ComponentInGit, SiteBusy, EnvironmentBusy, JobsWaiting)
_CHANGING_ONE: tuple[type[ApiError], ...] = (
    ComponentNotFound,
    ComponentFixed,
    *_CHANGING,
    *(error for error in QUESTION_ERRORS if error is not EnvironmentBusy),
)


@_twice("GET /components", id="components.list", scope=_READ, capability=_PLUGINS, errors=(*QUESTION_ERRORS,))
async def list_components(
    call: Call, environment: VisibleEnvironment, query: ComponentFilter, page: PageRequest
) -> Later[Page[ComponentView]]:
    """List the plugins and themes of a site, with the updates that WordPress knows of.

    A key that may read only plugins sees only plugins, and one that may read only themes sees only themes.
    """
    return await service.browse(call, environment, query, page)


@_twice(
    "POST /components",
    id="components.install",
    scope="cms.plugins:write",
    job="component.install",
    capability=_PLUGINS,
    errors=(*_CHANGING, ComponentVulnerable, CapabilityUnsupported),
)
async def install_component(call: Call, environment: VisibleEnvironment, body: NewComponent) -> JobView:
    """Install a plugin or theme from the registry of WordPress, or from an upload.

    A snapshot of production is taken first. If the site does not answer afterwards, what was installed is
    removed again, and the job fails with `component.unhealthy`. A version with a known vulnerability is
    refused without `force`. WordPress itself is updated by the platform.
    """
    return await service.install(call, environment, body)


@_twice(
    f"PATCH {_ONE}",
    id="components.update",
    scope=_WRITE,
    job="site.plugin_update",
    capability=_PLUGINS,
    errors=(ComponentVulnerable, *_CHANGING_ONE),
)
async def update_component(
    call: Call, environment: VisibleEnvironment, component_id: str, body: ComponentUpdate
) -> Later[JobView]:
    """Update a plugin or theme to a version of the registry, or activate or deactivate it.

    If the site does not answer afterwards, the earlier version and status come back at once. A version with a
    known vulnerability is refused without `force`.
    """
    return await service.update(call, environment, component_id, body)


@_twice(
    f"DELETE {_ONE}",
    id="components.delete",
    scope=_WRITE,
    job="site.plugin_update",
    capability=_PLUGINS,
    errors=_CHANGING_ONE,
)
async def delete_component(call: Call, environment: VisibleEnvironment, component_id: str) -> Later[JobView]:
    """Deactivate a plugin and delete it, or delete a theme that is not active."""
    return await service.delete(call, environment, component_id)


@_twice(
    "POST /components:batch",
    id="components.batch",
    scope=_WRITE,
    job="site.plugin_update",
    capability=_PLUGINS,
    errors=(*_CHANGING, ComponentVulnerable, CapabilityUnsupported),
)
async def change_components(call: Call, environment: VisibleEnvironment, body: ComponentBatch) -> JobView:
    """Change several plugins and themes, one after the other.

    The output of the job reports each of them. The job fails if none could be changed.
    """
    return await service.change_many(call, environment, body)
