"""HTTP operations on deployments and releases."""

from stead.control.artifacts.rules import ArtifactNotFound
from stead.control.deployments import service
from stead.control.deployments.rules import (
    ArtifactNotKept,
    DeploymentNotFound,
    EnvironmentNotReady,
    NeverLive,
    NothingLive,
    VisibleDeployment,
)
from stead.control.deployments.schema import DeploymentView, NewDeployment, Promotion, ReleaseView
from stead.control.environments.rules import EnvironmentLocked, EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView

operation = Operations(tag="Deployments")

_ENVIRONMENT = "/v1/sites/{site_id}/environments/{env_id}"


@operation(
    f"POST {_ENVIRONMENT}/deployments",
    id="deployments.create",
    scope="deployments:write",
    job="deployment.deploy_artifact",
    errors=[EnvironmentNotFound, ArtifactNotFound, EnvironmentNotReady, EnvironmentLocked, JobsWaiting],
)
async def deploy_artifact(call: Call, environment: VisibleEnvironment, body: NewDeployment) -> JobView:
    """Deploy an artifact to an environment.

    The node fetches, verifies and probes the release before any visitor sees it; then all visitors get it at
    once. If the probe fails, the job fails and the previous release is still served.
    """
    return await service.deploy(call.tx, environment, body)


@operation(
    f"GET {_ENVIRONMENT}/deployments",
    id="deployments.list",
    scope="deployments:read",
    errors=[EnvironmentNotFound],
)
async def list_deployments(
    call: Call, environment: VisibleEnvironment, page: PageRequest
) -> Page[DeploymentView]:
    """List the deployments of an environment, newest first."""
    return await service.browse(call.tx, environment.id, page)


@operation(
    f"POST {_ENVIRONMENT}/deployments/{{deployment_id}}/rollback",
    id="deployments.rollback",
    scope="deployments:write",
    job="deployment.rollback",
    errors=[
        EnvironmentNotFound,
        DeploymentNotFound,
        NeverLive,
        ArtifactNotKept,
        EnvironmentNotReady,
        EnvironmentLocked,
        JobsWaiting,
    ],
)
async def roll_back(call: Call, environment: VisibleEnvironment, deployment: VisibleDeployment) -> JobView:
    """Roll back to the release of an earlier deployment. Nothing is built."""
    return await service.rollback(call.tx, environment, deployment)


@operation(
    f"POST {_ENVIRONMENT}/promote",
    id="deployments.promote",
    scope="deployments:write",
    job="deployment.promote",
    errors=[
        EnvironmentNotFound,
        NothingLive,
        ArtifactNotFound,
        EnvironmentNotReady,
        EnvironmentLocked,
        JobsWaiting,
    ],
)
async def promote_deployment(call: Call, environment: VisibleEnvironment, body: Promotion) -> JobView:
    """Deploy the live release of this environment to another environment of the site. Nothing is built."""
    return await service.promote(call.tx, call.caller, environment, body)


@operation(
    f"GET {_ENVIRONMENT}/releases",
    id="releases.list",
    scope="deployments:read",
    errors=[EnvironmentNotFound],
)
async def list_releases(call: Call, environment: VisibleEnvironment, page: PageRequest) -> Page[ReleaseView]:
    """List the releases of an environment, live and earlier ones, newest first."""
    return await service.browse_releases(call.tx, environment.id, page)
