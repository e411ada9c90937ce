"""Jobs as callers see them: types and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound, QuotaExceeded, ServerFault
from stead.shared.ids import JobId
from stead.shared.roles import Role

JobStatus = Literal["queued", "running", "succeeded", "failed"]
FINAL = frozenset({"succeeded", "failed"})
MAX_QUEUED = 100
"""How many queued jobs one owner may have."""


@dataclass(frozen=True, slots=True)
class VisibleJob(Governed):
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


class EdgeUnreachable(ServerFault):
    status = 503
    code = "edge.unreachable"
    message = "The change did not reach every edge of the region in time: {nodes}."
    remedy = (
        "The change was undone. Try again. If the problem persists, contact the operator of the platform."
    )


class NoNode(ServerFault):
    status = 503
    code = "node.unavailable"
    message = "No node of the region {region} is reachable and has free capacity."
    remedy = "Try again later, or use another region."
