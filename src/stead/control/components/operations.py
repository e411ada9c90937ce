"""HTTP operations on plugins and themes."""

from stead.control.components import service
from stead.control.components.schema import ComponentFilter, ComponentView
from stead.control.environments.rules import VisibleEnvironment
from stead.control.environments.twins import TwinOperations
from stead.control.http.operations import Call, Later, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites.question_rules import QUESTION_ERRORS

operation = Operations(tag="Components")
_twice = TwinOperations(operation)

_READ = "cms.plugins:read|cms.themes:read"
_PLUGINS = "components.plugins"


@_twice("GET /components", id="components.list", scope=_READ, capability=_PLUGINS, errors=(*QUESTION_ERRORS,))
async def list_components(
    call: Call, environment: VisibleEnvironment, query: ComponentFilter, page: PageRequest
) -> Later[Page[ComponentView]]:
    """List the plugins and themes of a site, with the updates that WordPress knows of.

    A key that may read only plugins sees only plugins, and one that may read only themes sees only themes.
    """
    return await service.browse(call, environment, query, page)
