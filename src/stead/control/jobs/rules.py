"""What a job is to its caller. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound, QuotaExceeded, ServerFault
from stead.shared.ids import JobId
from stead.shared.roles import Role

JobStatus = Literal["queued", "running", "succeeded", "failed"]
FINAL = frozenset({"succeeded", "failed"})
MOST_WAITING = 100
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
    message = "There is no such job."
    remedy = "List the jobs this credential can see with `GET /v1/jobs`."


class JobAlreadyFinal(Conflict):
    code = "job.already_final"
    message = "The job has already ended: {status}."
    remedy = "An ended job never changes; what it did can be undone by another operation."


class JobsWaiting(QuotaExceeded):
    code = "quota.jobs"
    message = "{waiting} jobs of this owner are already waiting."
    remedy = "Wait until some of them have ended."


class JobCancelled(Conflict):
    code = "job.cancelled"
    message = "The job was cancelled."
    remedy = "Whatever it had begun was undone; start it again when you want to."


class JobTimeout(ServerFault):
    code = "job.timeout"
    message = "The job took longer than its limit of {limit}."
    remedy = "Whatever it had begun was undone. Its output tells how far it came; try again."


class JobLost(ServerFault):
    code = "job.lost"
    message = "The job's execution was lost."
    remedy = "Try again; if it goes on, send us the job's id."


class DeployUnhealthy(Conflict):
    code = "deploy.unhealthy"
    message = "The site did not answer as it should: {reason}"
    remedy = "What was served before is still served. Look at the job's output, mend, and deploy again."


class EdgeUnreachable(ServerFault):
    status = 503
    code = "edge.unreachable"
    message = "The change did not reach every edge of the region in time: {nodes}."
    remedy = "It was undone. Try again; if it goes on, the operator of the platform has to look at that node."


class NoNode(ServerFault):
    status = 503
    code = "node.unavailable"
    message = "No node of the region {region} has room and is up."
    remedy = "Try another region, or again later."
