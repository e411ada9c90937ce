"""HTTP operations on functions."""

from stead.control.artifacts.rules import ArtifactNotFound
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.environments.rules import EnvironmentLocked
from stead.control.functions import service
from stead.control.functions.rules import (
    BindingUnsupported,
    FunctionNotFound,
    FunctionsExhausted,
    LanguageUnsupported,
    RouteTaken,
    SlugTaken,
    SourceMissing,
    VersionNotFound,
    VisibleFunction,
)
from stead.control.functions.schema import (
    FunctionChange,
    FunctionRollback,
    FunctionVersionView,
    FunctionView,
    NewFunction,
    NewFunctionBuild,
    NewFunctionDeployment,
)
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import QueuedJob
from stead.control.plans.rules import StorageExhausted
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite
from stead.shared.errors import CapabilityUnsupported

operation = Operations(tag="Functions")

_ONE = "/v1/functions/{function_id}"
_READ, _WRITE = "functions:read", "functions:write"
_BUILDING = [EnvironmentNotReady, StorageExhausted, JobsWaiting]
_DEPLOYING = [FunctionNotFound, EnvironmentNotReady, EnvironmentLocked, SiteBusy, JobsWaiting]


@operation("GET /v1/functions", id="functions.list", scope=_READ)
async def list_functions(call: Call, page: PageRequest) -> Page[FunctionView]:
    """List the functions of all sites that the caller can see, newest first."""
    return await service.browse(call.tx, call.caller, page)


@operation(
    "GET /v1/sites/{site_id}/functions", id="functions.list_for_site", scope=_READ, errors=[SiteNotFound]
)
async def list_functions_of_site(call: Call, site: VisibleSite, page: PageRequest) -> Page[FunctionView]:
    """List the functions of a site, newest first."""
    return await service.browse_site(call.tx, site, page)


@operation(f"GET {_ONE}", id="functions.get", scope=_READ, errors=[FunctionNotFound])
async def get_function(call: Call, function: VisibleFunction) -> FunctionView:
    """Read a function."""
    return await service.view(call.tx, function.id)


@operation(
    "POST /v1/functions",
    id="functions.create",
    scope=_WRITE,
    status=201,
    capability="functions",
    test_keys=True,
    errors=[
        *(SiteNotFound, SlugTaken, RouteTaken, LanguageUnsupported, BindingUnsupported, FunctionsExhausted),
        *(CapabilityUnsupported, SiteBusy, *_BUILDING),
    ],
)
async def create_function(call: Call, body: NewFunction) -> FunctionView:
    """Create a function of a site with the profile `wasm`.

    With `source` it is built, and deployed unless `auto_deploy` is false: `last_build_job_id` names the job.
    It answers at `/_fn/<slug>` of every domain of the site, or at `route_path`.
    """
    site, created = await service.create(call.tx, call.caller, body)
    call.audit.team_id, call.audit.site_id = site.team_id, site.id
    return created


@operation(
    f"PATCH {_ONE}",
    id="functions.update",
    scope=_WRITE,
    errors=[FunctionNotFound, RouteTaken, BindingUnsupported, SiteBusy],
)
async def update_function(call: Call, function: VisibleFunction, body: FunctionChange) -> FunctionView:
    """Change the settings of a function. They apply from its next deployment or rollback on."""
    return await service.update(call.tx, function, body)


@operation(
    f"POST {_ONE}/build",
    id="functions.build",
    scope=_WRITE,
    job="build.run",
    errors=[FunctionNotFound, LanguageUnsupported, SourceMissing, SiteBusy, *_BUILDING],
)
async def build_function(call: Call, function: VisibleFunction, body: NewFunctionBuild) -> QueuedJob:
    """Build a function from a new source, or from its stored one."""
    return await service.build(call.tx, function, body)


@operation(
    f"POST {_ONE}/deploy",
    id="functions.deploy",
    scope=_WRITE,
    job="deployment.wasm_deploy",
    errors=[ArtifactNotFound, *_DEPLOYING],
)
async def deploy_function(call: Call, function: VisibleFunction, body: NewFunctionDeployment) -> QueuedJob:
    """Deploy an artifact of a function.

    The node verifies, compiles and starts the function before any visitor reaches it; then all visitors get
    it at once. If it cannot be started, the job fails and the version before is still served.
    """
    return await service.deploy(call.tx, function, body.artifact_id)


@operation(
    f"POST {_ONE}/rollback",
    id="functions.rollback",
    scope=_WRITE,
    job="deployment.wasm_rollback",
    errors=[VersionNotFound, *_DEPLOYING],
)
async def roll_back_function(call: Call, function: VisibleFunction, body: FunctionRollback) -> QueuedJob:
    """Serve an earlier version of a function again, with its current settings. Nothing is built."""
    return await service.rollback(call.tx, function, body.version_id)


@operation(f"GET {_ONE}/versions", id="functions.versions", scope=_READ, errors=[FunctionNotFound])
async def list_function_versions(
    call: Call, function: VisibleFunction, page: PageRequest
) -> Page[FunctionVersionView]:
    """List the versions of a function that can be deployed again, newest first."""
    return await service.browse_versions(call.tx, function, page)


@operation(
    f"DELETE {_ONE}", id="functions.delete", recent_sign_in=True, scope=_WRITE, errors=[FunctionNotFound]
)
async def delete_function(call: Call, function: VisibleFunction) -> None:
    """Delete a function. The edges stop serving it within seconds. Its state is kept with the site."""
    await service.delete(call.tx, function)
