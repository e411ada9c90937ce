"""HTTP operations on builds."""

from stead.control.builds import service
from stead.control.builds.rules import BuildNotFound, VisibleBuild
from stead.control.builds.schema import BuildView, NewBuild
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.plans.rules import StorageExhausted

operation = Operations(tag="Deployments")

_BUILDS = "/v1/sites/{site_id}/environments/{env_id}/builds"


@operation(
    f"POST {_BUILDS}",
    id="builds.create",
    scope="deployments:write",
    job="build.run",
    creates="builds.get",
    capability="build",
    errors=[EnvironmentNotFound, EnvironmentNotReady, StorageExhausted, JobsWaiting],
)
async def create_build(call: Call, environment: VisibleEnvironment, body: NewBuild) -> JobView:
    """Build an artifact from the repository of the site, from an upload, or from an archive at another URL.

    The output of the job contains every line of the build. The result of a successful job contains the
    `artifact_id`.
    """
    return await service.create(call.tx, environment, body)


@operation(f"GET {_BUILDS}", id="builds.list", scope="deployments:read", errors=[EnvironmentNotFound])
async def list_builds(call: Call, environment: VisibleEnvironment, page: PageRequest) -> Page[BuildView]:
    """List the builds of an environment, newest first."""
    return await service.browse(call.tx, environment.id, page)


@operation(
    f"GET {_BUILDS}/{{build_id}}",
    id="builds.get",
    scope="deployments:read",
    errors=[EnvironmentNotFound, BuildNotFound],
)
async def get_build(call: Call, environment: VisibleEnvironment, build: VisibleBuild) -> BuildView:  # noqa: ARG001
    """Read a build."""
    return await service.view(call.tx, build)
