"""What an environment is. No I/O."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.platform.visibility import Governance, Owned
from stead.shared.errors import NotFound
from stead.shared.ids import AccountId, EnvironmentId, SiteId, TeamId
from stead.shared.roles import Role

PRODUCTION = "production"
"""What a path may say instead of the identifier of a site's production environment."""


@dataclass(frozen=True, slots=True)
class Environment:
    id: EnvironmentId
    site_id: SiteId
    type: str
    subdomain: str
    status: str
    node_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class VisibleEnvironment(Owned):
    """An environment of a site that the caller can see; within pin and mode."""

    id: EnvironmentId
    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    domain: str
    site_status: str
    type: str
    subdomain: str
    status: str
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.site_id)


class EnvironmentNotFound(NotFound):
    code = "environment.not_found"
    message = "There is no such environment of a site that you can see."
    remedy = "`production` always names the site itself; `GET …/environments` lists the others."
