"""What a job is to its caller. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import JobId
from stead.shared.roles import Role

JobStatus = Literal["queued", "running", "succeeded", "failed"]
FINAL = frozenset({"succeeded", "failed"})


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
