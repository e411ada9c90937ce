"""What a site is, who may see it, and how its status may change. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.control.environments.runtimes import CAPABILITIES
from stead.control.http.visibility import Governance, Governed, Owned
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

NEXT: dict[SiteStatus, frozenset[SiteStatus]] = {
    "provisioning": frozenset({"running", "awaiting_push", "failed"}),
    "awaiting_push": frozenset({"running", "failed", "deleting"}),
    "running": frozenset({"stopped", "failed", "deleting", "awaiting_push"}),
    "stopped": frozenset({"running", "failed", "deleting"}),
    "failed": frozenset({"provisioning", "running", "deleting"}),
    "deleting": frozenset({"deleted", "running", "failed"}),
    "deleted": frozenset({"provisioning", "deleted"}),
}
"""What may follow. A deletion that fails leaves the site as it was; a deleted site may be recovered."""


def may_become(status: SiteStatus, wanted: SiteStatus) -> bool:
    return wanted in NEXT[status]


@dataclass(frozen=True, slots=True)
class VisibleSite(Governed, Owned):
    """A site of the caller's own, or of a team in which the caller's role sees sites; within pin and mode."""

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
    message = "There is no such site."
    remedy = "List the sites this credential can see with `GET /v1/sites`."


class DomainTaken(Conflict):
    code = "site.domain_taken"
    message = "Another site already has the domain {domain}."
    remedy = "Use another domain; a domain is one site's at a time."


class SiteBusy(Conflict):
    code = "site.busy"
    message = "A job of this site has not ended yet, or the site is {status}."
    remedy = "Wait for the job, or cancel it, and try again."


class NotRecoverable(Conflict):
    code = "site.not_recoverable"
    message = "The site is not deleted, or its 30 days are over."
    remedy = "A site can be recovered from the moment its deletion has ended until `recoverable_until`."


class ConfirmDomainMismatch(InvalidRequest):
    code = "site.confirm_domain_mismatch"
    message = "`confirm_domain` is not the domain of this site."
    remedy = "Send the site's domain, exactly as it is shown, to confirm the deletion."


class TargetNotAdministered(Forbidden):
    code = "site.target_not_administered"
    message = "You may put sites only into a team that you own or administer."
    remedy = "Ask an owner of the team for the role of an administrator."


def require_changeable(*statuses: str) -> None:
    """Refuse a change to a site or environment that is being deleted."""
    for status in statuses:
        if status in ("deleting", "deleted"):
            raise SiteBusy(status=status)
