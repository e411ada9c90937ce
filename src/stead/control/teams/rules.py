"""Teams: types and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import TeamId
from stead.shared.roles import Role


@dataclass(frozen=True, slots=True)
class VisibleTeam(Governed):
    """A team of which the caller is an active member. A pinned credential sees only the pinned team."""

    id: TeamId
    name: str
    plan: str
    created_at: datetime
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.id, None)


class TeamNotFound(NotFound):
    code = "team.not_found"
    message = "The team does not exist."
    remedy = "List your teams with `GET /v1/teams`."


class TeamHasSites(Conflict):
    code = "team.has_sites"
    message = "The team still has sites."
    remedy = "Delete or transfer its sites first."
