"""Jobs as callers see them: types and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from stead.control.http.modes import ModeBound
from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded, ServerFault
from stead.shared.ids import JobId
from stead.shared.roles import Role

JobStatus = Literal["queued", "running", "succeeded", "failed"]
FINAL = frozenset({"succeeded", "failed"})
RETENTION = timedelta(days=90)
"""Jobs that have ended are kept for this long after their creation."""
MAX_QUEUED = 100
"""How many queued jobs one owner may have."""
MAX_PLATFORM_QUEUED = 20
"""How many jobs of the platform itself are queued for one owner at once. The rest follow later."""


@dataclass(frozen=True, slots=True)
class VisibleJob(Governed, ModeBound):
    """A job on a site that the caller can see."""

    id: JobId
    type: str
    status: JobStatus
    created_at: datetime
    resource: dict[str, Any]
    result: dict[str, Any]
    error: dict[str, Any] | None
    revision: int
    scope: str
    site_id: str
    team_id: str | None
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.site_id)


class JobNotFound(NotFound):
    code = "job.not_found"
    message = "The job does not exist."
    remedy = "List the jobs that this credential can see with `GET /v1/jobs`."


class JobAlreadyFinal(Conflict):
    code = "job.already_final"
    message = "The job has already ended with the status {status}."
    remedy = "A job that has ended cannot be cancelled. Use another operation to revert its changes."


class JobsWaiting(QuotaExceeded):
    code = "quota.jobs"
    message = "{waiting} jobs of this owner are already queued."
    remedy = "Wait until some of these jobs have ended."


class JobCancelled(Conflict):
    code = "job.cancelled"
    message = "The job was cancelled."
    remedy = "Its completed steps were undone. Start it again if needed."


class JobTimeout(ServerFault):
    code = "job.timeout"
    message = "The job exceeded its time limit of {limit}."
    remedy = "Its completed steps were undone. Check the output of the job, and try again."


class JobLost(ServerFault):
    code = "job.lost"
    message = "The job's execution was lost."
    remedy = (
        "Try again. If the problem persists, contact the operator of the platform with the ID of the job."
    )


class DeployUnhealthy(Conflict):
    code = "deploy.unhealthy"
    message = "The site did not pass the health check: {reason}"
    remedy = (
        "The previous release is still served. Check the output of the job, fix the site and deploy again."
    )


class PhpIncompatible(InvalidRequest):
    code = "php.incompatible"
    message = "The code of the site does not allow this version of PHP: {reason}"
    remedy = "Nothing was changed. Update what the message names, or send `force` to try it nevertheless."


class PhpUnhealthy(Conflict):
    code = "php.unhealthy"
    message = "The site does not work on this version of PHP: {reason}"
    remedy = "All environments have the version from before. Fix what the message names, and try again."


class EdgeUnreachable(ServerFault):
    status = 503
    code = "edge.unreachable"
    message = "The change did not reach every edge of the region in time: {nodes}."
    remedy = (
        "The change was undone. Try again. If the problem persists, contact the operator of the platform."
    )


class NodeShortOfSpace(ServerFault):
    status = 503
    code = "node.short_of_space"
    message = "The node that hosts the site is short of disk space."
    remedy = "What the site serves is not affected. Try again later, or contact the operator of the platform."


class CmsDataLost(ServerFault):
    status = 503
    code = "cms.data_lost"
    message = "The files and the database of the site are not on its node: {reason}"
    remedy = "Restore a snapshot with `POST /v1/sites/{site_id}/snapshots/{snapshot_id}/restore`."


class CmsNotInstalled(ServerFault):
    code = "cms.not_installed"
    message = "WordPress could not be installed: {reason}"
    remedy = "Try again. If the error persists, contact the operator of the platform."


class NoNode(ServerFault):
    status = 503
    code = "node.unavailable"
    message = (
        "No node of the region {region} that runs {runtime} sites is reachable and has free capacity."
        " Available: {available}."
    )
    remedy = "Try again later, or use one of the regions that the message lists."


class NodeKeyUnknown(ServerFault):
    status = 503
    code = "node.key_unknown"
    message = "The node {node} cannot receive secrets, because the operator has not added its public key."
    remedy = "Try again later. If the error persists, the operator must add the node's key."


class NodeOutdated(ServerFault):
    status = 503
    code = "node.outdated"
    message = "The node {node} does not understand the command, because its version is too old."
    remedy = "The job's completed steps were undone. Try again after the operator has updated the node."


class RuntimeUnsupported(ServerFault):
    status = 503
    code = "runtime.unsupported"
    message = "The node does not support the runtime of the site."
    remedy = "Try again. If the error persists, the operator must set up a node for this runtime."


class FunctionUnsupported(ServerFault):
    status = 503
    code = "function.unsupported"
    message = "The node does not support functions."
    remedy = "Try again. If the error persists, the operator must set up a node for functions."


class RouteUnsupported(ServerFault):
    status = 503
    code = "route.unsupported"
    message = "The node has no edge that could serve the site."
    remedy = "Try again. If the error persists, the operator must set up an edge on the node."


class WorkUnsupported(ServerFault):
    status = 503
    code = "work.unsupported"
    message = "The node cannot do this kind of work."
    remedy = "Try again. If the error persists, the operator must update the node."


class RouteTaken(Conflict):
    code = "route.taken"
    message = "Another environment on the node answers this host."
    remedy = "Try again. If the error persists, contact the operator of the platform with the ID of the job."


class RouteMalformed(ServerFault):
    code = "route.malformed"
    message = "The node does not accept the host name of the environment."
    remedy = "Contact the operator of the platform with the ID of the job."


class EnvironmentMalformed(ServerFault):
    code = "environment.malformed"
    message = "The node does not accept the identifier of the environment."
    remedy = "Contact the operator of the platform with the ID of the job."


class ProbeMalformed(ServerFault):
    code = "probe.malformed"
    message = "The node does not accept the path or the release that it should check."
    remedy = "Contact the operator of the platform with the ID of the job."


class SandboxToldToFail(Conflict):
    code = "sandbox.told_to_fail"
    message = "The simulator of test sites was told to fail."
    remedy = "Only test sites fail like this, because their branch or domain asks for it. Choose another one."
