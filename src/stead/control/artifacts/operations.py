"""HTTP operations on artifacts."""

from stead.control.artifacts import service
from stead.control.artifacts.schema import ArtifactView
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest

operation = Operations(tag="Deployments")


@operation(
    "GET /v1/sites/{site_id}/environments/{env_id}/artifacts",
    id="artifacts.list",
    scope="deployments:read",
    errors=[EnvironmentNotFound],
)
async def list_artifacts(
    call: Call, environment: VisibleEnvironment, page: PageRequest
) -> Page[ArtifactView]:
    """List the artifacts that can be deployed, newest first.

    An artifact belongs to the site: it can be deployed to every environment, whichever it was built for.
    Artifacts that no environment has used lately are removed after 30 days; the ten newest are always kept.
    """
    return await service.browse(call.tx, environment.site_id, page)
