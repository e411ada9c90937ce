"""What an environment is, how its status may change, what it may be called. No I/O."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from stead.control.environments.runtimes import CAPABILITIES
from stead.control.http.visibility import Governance, Governed, Owned
from stead.shared import branches
from stead.shared.errors import Conflict, FieldInvalid, NotFound
from stead.shared.ids import AccountId, EnvironmentId, SiteId, TeamId
from stead.shared.roles import Role
from stead.shared.runtimes import Runtime

PRODUCTION = "production"
"""What a path may say instead of the identifier of a site's production environment."""

EnvironmentType = Literal["production", "staging", "branch"]
EnvironmentStatus = Literal[
    "provisioning", "running", "suspending", "suspended", "deleting", "deleted", "failed"
]

NEXT: dict[EnvironmentStatus, frozenset[EnvironmentStatus]] = {
    "provisioning": frozenset({"running", "suspended", "failed", "deleted"}),
    "running": frozenset({"suspending", "failed", "deleting", "deleted"}),
    "suspending": frozenset({"suspended", "running", "deleted"}),
    "suspended": frozenset({"provisioning", "deleting", "deleted"}),
    "failed": frozenset({"provisioning", "running", "deleting", "deleted"}),
    "deleting": frozenset({"deleted", "running", "suspended", "failed"}),
    "deleted": frozenset({"provisioning", "running", "suspended", "failed"}),
}
"""What may follow. What fails goes back to what it was; what was deleted with its site comes back with it."""

GRACE = timedelta(days=1)
"""How long an environment outlives its branch."""
LEASE = timedelta(days=30)

_LONGEST_LABEL = 63
_HASH = 8
_UNFIT = re.compile(r"[^a-z0-9]+")


def before(status: EnvironmentStatus) -> tuple[EnvironmentStatus, ...]:
    """What it may have been before it is this."""
    return tuple(earlier for earlier, later in NEXT.items() if status in later)


def returns_to(status: EnvironmentStatus) -> EnvironmentStatus:
    """What an environment is after its site was deleted and recovered: nothing is under way any more."""
    settled: dict[EnvironmentStatus, EnvironmentStatus] = {
        "provisioning": "failed",
        "deleting": "failed",
        "suspending": "running",
    }
    return settled.get(status, status)


def require_branch_name(name: str) -> None:
    if not branches.is_branch_name(name):
        raise FieldInvalid(param="branch", reason=f"{name[: branches.LONGEST]!r} is not a valid branch name.")


def labels(slug: str, type_: EnvironmentType, branch: str | None) -> list[str]:
    """Names for its host, the nicest first. The last one cannot be what another branch is called.

    Different branches may look alike once they fit into DNS, and one may be called staging.
    """
    if type_ == "staging" or branch is None:
        return [f"{slug}-{type_}"]
    room = _LONGEST_LABEL - len(slug) - 1
    plain = _UNFIT.sub("-", branch.lower()).strip("-")
    mark = sha256(branch.encode()).hexdigest()[:_HASH]
    marked = f"{slug}-{plain[: room - _HASH - 1].strip('-') or 'branch'[: room - _HASH - 1]}-{mark}"
    fits = bool(plain) and len(plain) <= room and plain not in ("staging", PRODUCTION)
    return [f"{slug}-{plain}", marked] if fits else [marked]


@dataclass(frozen=True, slots=True)
class Environment:
    id: EnvironmentId
    site_id: SiteId
    type: EnvironmentType
    branch: str | None
    subdomain: str
    status: EnvironmentStatus
    node_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Home(Owned):
    """The site of an environment, as far as its environments depend on it."""

    id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    slug: str
    status: str
    git_repo: str | None


@dataclass(frozen=True, slots=True)
class VisibleEnvironment(Governed, Owned):
    """An environment of a site that the caller can see; within pin and mode."""

    id: EnvironmentId
    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    domain: str
    site_status: str
    runtime: Runtime
    git_repo: str | None
    type: EnvironmentType
    branch: str | None
    subdomain: str
    status: EnvironmentStatus
    role: Role

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.site_id)

    def supports(self, capability: str) -> bool:
        return CAPABILITIES[self.runtime][capability].supported


class EnvironmentNotFound(NotFound):
    code = "environment.not_found"
    message = "There is no such environment of a site that you can see."
    remedy = "`production` always names the site itself; `GET …/environments` lists the others."


class EnvironmentExists(Conflict):
    code = "environment.exists"
    message = "The site already has {which}."
    remedy = (
        "Use the one that is there, or destroy it first: one staging environment, and one for each branch."
    )


class EnvironmentBusy(Conflict):
    code = "environment.busy"
    message = "The environment is {status}."
    remedy = "Wait for its job, or bring it into a state from which this can be done, and try again."


class EnvironmentIsProduction(Conflict):
    code = "environment.is_production"
    message = "That cannot be done with production, which is the site itself."
    remedy = "Delete the site with `DELETE /v1/sites/{site_id}`; deploy, promote or roll back to change it."


class PushNotAllowed(Conflict):
    code = "environment.push_not_allowed"
    message = "The content of a site with a repository is pushed from its staging environment only."
    remedy = "Merge the branch and let production be built, or push from staging."


class SiteNotRunning(Conflict):
    code = "site.not_running"
    message = "The site is {status}, so nothing can be done with its environments now."
    remedy = "Wait until it is running, or restart or recover it."
