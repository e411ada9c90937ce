"""Projects: types and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import AccountId, ProjectId, TeamId
from stead.shared.roles import Role


@dataclass(frozen=True, slots=True)
class VisibleProject(Governed):
    """A project of the caller's account. A pinned credential sees only the pinned project."""

    id: ProjectId
    name: str
    created_at: datetime
    account_id: AccountId | None
    team_id: TeamId | None
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, None)


class VisibleTeamProject(VisibleProject):
    """A project of a team of which the caller is an active member.

    A pinned credential sees only the pinned project, or the projects of the pinned team.
    """

    __slots__ = ()


class ProjectNotFound(NotFound):
    code = "project.not_found"
    message = "The project does not exist."
    remedy = (
        "List your projects with `GET /v1/projects`, those of a team with `GET /v1/teams/{team_id}/projects`."
    )


class OwnerDiffers(Conflict):
    code = "project.owner_differs"
    message = "The site and the project have different owners."
    remedy = "Transfer the site first, or choose a project with the same owner."
