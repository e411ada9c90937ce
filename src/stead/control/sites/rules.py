"""What a site is and who may see it. No I/O."""

from dataclasses import dataclass

from stead.control.platform.visibility import Governance, Governed
from stead.shared.errors import NotFound
from stead.shared.ids import AccountId, ProjectId, SiteId, TeamId
from stead.shared.roles import Role


@dataclass(frozen=True, slots=True)
class VisibleSite(Governed):
    """A site of the caller's own, or of a team in which the caller's role sees sites; within pin and mode."""

    id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    project_id: ProjectId | None
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.id)


class SiteNotFound(NotFound):
    code = "site.not_found"
    message = "There is no such site."
    remedy = "List the sites this credential can see with `GET /v1/sites`."
