"""What an environment is, how its status may change, and what its host is called. No I/O."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from stead.control.http.modes import ModeBound
from stead.control.http.visibility import Governance, Governed, Owned
from stead.control.sites.capabilities import CAPABILITIES
from stead.shared import branches
from stead.shared.errors import Conflict, FieldInvalid, NotFound
from stead.shared.ids import AccountId, EnvironmentId, SiteId, TeamId
from stead.shared.roles import Role
from stead.shared.runtimes import Runtime
from stead.shared.wording import quote

PRODUCTION = "production"
"""Accepted in a path instead of the identifier of a site's production environment."""

EnvironmentType = Literal["production", "staging", "branch"]
EnvironmentStatus = Literal[
    "provisioning", "running", "suspending", "suspended", "deleting", "deleted", "failed"
]

NEXT_STATUSES: dict[EnvironmentStatus, frozenset[EnvironmentStatus]] = {
    "provisioning": frozenset({"running", "suspended", "failed", "deleted"}),
    "running": frozenset({"suspending", "failed", "deleting", "deleted"}),
    "suspending": frozenset({"suspended", "running", "deleted"}),
    "suspended": frozenset({"provisioning", "deleting", "deleted"}),
    "failed": frozenset({"provisioning", "running", "deleting", "deleted"}),
    "deleting": frozenset({"deleted", "running", "suspended", "failed"}),
    "deleted": frozenset({"provisioning", "running", "suspended", "failed"}),
}
"""The allowed changes. A failed action returns to the status before it; an environment that was deleted with
its site returns to its status when the site is recovered."""

BRANCH_GRACE = timedelta(days=1)
"""How long an environment is kept after its branch was deleted."""
LEASE = timedelta(days=30)

_LONGEST_LABEL = 63
_HASH_LENGTH = 8
_NOT_IN_LABEL = re.compile(r"[^a-z0-9]+")


def previous_statuses(status: EnvironmentStatus) -> tuple[EnvironmentStatus, ...]:
    """The statuses that may change to this one."""
    return tuple(earlier for earlier, later in NEXT_STATUSES.items() if status in later)


def status_after_recovery(status: EnvironmentStatus) -> EnvironmentStatus:
    """The status of an environment once its deleted site is recovered. Its jobs did not survive the deletion,
    so no change is in progress any more."""
    settled: dict[EnvironmentStatus, EnvironmentStatus] = {
        "provisioning": "failed",
        "deleting": "failed",
        "suspending": "running",
    }
    return settled.get(status, status)


def require_branch_name(name: str) -> None:
    if not branches.is_branch_name(name):
        raise FieldInvalid(
            param="branch", reason=f"{quote(name)} is not a branch name. Use for example: feature/checkout."
        )


def host_labels(slug: str, type_: EnvironmentType, branch: str | None) -> list[str]:
    """DNS labels for the host of an environment, the most readable first; the last is unique to the branch.

    Different branch names may become equal once they are reduced to a label, and a branch may be named
    `staging`.
    """
    if type_ == "staging" or branch is None:
        return [f"{slug}-{type_}"]
    available = _LONGEST_LABEL - len(slug) - 1
    readable = _NOT_IN_LABEL.sub("-", branch.lower()).strip("-")
    hash_ = sha256(branch.encode()).hexdigest()[:_HASH_LENGTH]
    shortened = available - _HASH_LENGTH - 1
    unique = f"{slug}-{readable[:shortened].strip('-') or 'branch'[:shortened]}-{hash_}"
    fits = bool(readable) and len(readable) <= available and readable not in ("staging", PRODUCTION)
    return [f"{slug}-{readable}", unique] if fits else [unique]


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
class ParentSite(Owned):
    """The columns of a site that its new environments depend on."""

    id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    slug: str
    status: str
    git_repo: str | None


@dataclass(frozen=True, slots=True)
class VisibleEnvironment(Governed, Owned, ModeBound):
    """An environment of a site that the caller can see, within the pin and the mode of the credential."""

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


@dataclass(frozen=True, slots=True)
class VisibleProduction(VisibleEnvironment):
    """The production environment of the site in the path, for operations that are also offered there."""


class EnvironmentNotFound(NotFound):
    code = "environment.not_found"
    message = "The environment was not found."
    remedy = "Use `production` for the site itself, or list the other environments with `GET …/environments`."


class EnvironmentExists(Conflict):
    code = "environment.exists"
    message = "The site already has {which}."
    remedy = (
        "Use the existing environment, or destroy it first. A site has one staging environment and one"
        " environment per branch."
    )


class EnvironmentBusy(Conflict):
    code = "environment.busy"
    message = "The environment is {status}."
    remedy = "Wait for its job, or change its status to one that allows this action, and try again."


class EnvironmentIsProduction(Conflict):
    code = "environment.is_production"
    message = "This action is not available for the production environment, which is the site itself."
    remedy = (
        "To delete the site, use `DELETE /v1/sites/{site_id}`. To change it, deploy, promote or roll back."
    )


class EnvironmentLocked(Conflict):
    code = "environment.locked"
    message = "The environment is locked, so nothing is deployed to it: {reason}"
    remedy = "Unlock it with `DELETE …/environments/{env_id}/lock`, and try again."


class PushNotAllowed(Conflict):
    code = "environment.push_not_allowed"
    message = "On a site with a repository, only the staging environment can be pushed to production."
    remedy = "Merge the branch so that production is built from it, or push from staging."


class NothingToPush(Conflict):
    code = "environment.nothing_to_push"
    message = "The environment serves only its placeholder page."
    remedy = "Deploy to it first, or refresh it from production."


class CopyFailed(Conflict):
    code = "environment.copy_failed"
    message = "The files or rows of production could not be copied: {reason}"
    remedy = "The environment serves what it served before. Read the output of the job, and try again."


class ContentTooLarge(Conflict):
    code = "environment.too_large"
    message = "The files or rows of production do not fit into the environment."
    remedy = "Leave out the uploads, remove what is not needed from production, or choose a larger plan."


class SiteNotRunning(Conflict):
    code = "site.not_running"
    message = "The site is {status}, so its environments cannot be changed now."
    remedy = "Wait until the site is running, or restart or recover it."
