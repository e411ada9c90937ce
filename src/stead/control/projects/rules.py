"""What a project is. No I/O."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import AccountId, ProjectId, TeamId
from stead.shared.roles import Role


@dataclass(frozen=True, slots=True)
class OwnedProject(Governed):
    id: ProjectId
    name: str
    created_at: datetime
    account_id: AccountId | None
    team_id: TeamId | None
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, None)


class VisibleProject(OwnedProject):
    """A project of the caller's own, unless the caller's pin is elsewhere."""

    __slots__ = ()


class VisibleTeamProject(OwnedProject):
    """A project of a team of which the caller is an active member, unless the caller's pin is elsewhere."""

    __slots__ = ()


class ProjectNotFound(NotFound):
    code = "project.not_found"
    message = "There is no such project."
    remedy = "List projects with `GET /v1/projects`, or `GET /v1/teams/{team_id}/projects` for a team's."


class OwnerDiffers(Conflict):
    code = "project.owner_differs"
    message = "The site and the project do not belong to the same owner."
    remedy = "Transfer the site first, or choose a project of its owner."
