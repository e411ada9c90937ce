"""What a site is and how its status may change. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.control.http.modes import ModeBound
from stead.control.http.visibility import Governance, Governed, Owned
from stead.control.sites.capabilities import CAPABILITIES
from stead.shared.errors import Conflict, Forbidden, InvalidRequest, NotFound
from stead.shared.ids import AccountId, ProjectId, SiteId, TeamId
from stead.shared.roles import Role
from stead.shared.runtimes import Runtime

Profile = Literal["git_managed", "vanilla", "static", "wasm"]
PhpVersion = Literal["8.2", "8.3", "8.4", "8.5"]
SiteStatus = Literal["provisioning", "running", "stopped", "deleting", "deleted", "failed", "awaiting_push"]

DEFAULT_PHP: PhpVersion = "8.3"
RECOVERABLE = timedelta(days=30)
RUNTIME_OF: dict[Profile, Runtime] = {
    "git_managed": "cms",
    "vanilla": "cms",
    "static": "static",
    "wasm": "wasm",
}

NEXT_STATUSES: dict[SiteStatus, frozenset[SiteStatus]] = {
    "provisioning": frozenset({"running", "awaiting_push", "failed"}),
    "awaiting_push": frozenset({"running", "failed", "deleting"}),
    "running": frozenset({"stopped", "failed", "deleting", "awaiting_push"}),
    "stopped": frozenset({"running", "failed", "deleting"}),
    "failed": frozenset({"provisioning", "running", "deleting"}),
    "deleting": frozenset({"deleted", "running", "failed"}),
    "deleted": frozenset({"provisioning", "deleted"}),
}
"""The allowed changes. A failed deletion returns to the status before it; a deleted site can be recovered."""


def may_change(status: SiteStatus, wanted: SiteStatus) -> bool:
    return wanted in NEXT_STATUSES[status]


def statuses_before(wanted: SiteStatus) -> list[SiteStatus]:
    """The statuses that may change to this one."""
    return [status for status in NEXT_STATUSES if may_change(status, wanted)]


@dataclass(frozen=True, slots=True)
class AbandonedSite:
    """A site of an account that was closed."""

    id: SiteId
    account_id: AccountId
    status: SiteStatus
    status_reason: str | None


@dataclass(frozen=True, slots=True)
class VisibleSite(Governed, Owned, ModeBound):
    """A site that the caller can see: its own, or of a team in which its role includes reading sites; within
    the pin and the mode of the credential."""

    id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    project_id: ProjectId | None
    domain: str
    slug: str
    runtime: Runtime
    status: SiteStatus
    recoverable_until: datetime | None
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.id)

    def supports(self, capability: str) -> bool:
        return CAPABILITIES[self.runtime][capability].supported


class SiteNotFound(NotFound):
    code = "site.not_found"
    message = "The site was not found."
    remedy = "List the sites that this credential can see with `GET /v1/sites`."


class DomainTaken(Conflict):
    code = "site.domain_taken"
    message = "Another site already has the domain {domain}."
    remedy = "Use another domain. A domain belongs to one site at a time."


class SiteBusy(Conflict):
    code = "site.busy"
    message = "A job of this site has not finished, or the site is {status}."
    remedy = "Wait for the job, or cancel it, and try again."


class NotRecoverable(Conflict):
    code = "site.not_recoverable"
    message = "The site is not deleted, or was deleted more than 30 days ago."
    remedy = "A site can be recovered after its deletion has finished, until `recoverable_until`."


class ConfirmDomainMismatch(InvalidRequest):
    code = "site.confirm_domain_mismatch"
    message = "`confirm_domain` is not the domain of this site."
    remedy = "To confirm the deletion, send the domain of the site exactly as the API returns it."


class TargetNotAdministered(Forbidden):
    code = "site.target_not_administered"
    message = "You can create sites in, or transfer sites to, only teams that you own or administer."
    remedy = "Ask an owner of the team for the administrator role."


def require_changeable(*statuses: str) -> None:
    """Refuse a change to a site or environment that is being deleted."""
    for status in statuses:
        if status in ("deleting", "deleted"):
            raise SiteBusy(status=status)
