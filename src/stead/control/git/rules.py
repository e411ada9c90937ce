"""Connections to repositories, pushes, and the decisions about them. No I/O."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from stead.control.git.branch_rules import BranchRule, Target, choose_target
from stead.control.http.principal import Mode
from stead.control.http.visibility import Owned
from stead.control.outbox.events import About
from stead.control.sites.rules import SiteStatus
from stead.shared.errors import Conflict, Unauthenticated
from stead.shared.runtimes import Runtime

PushSource = Literal["hook", "poll"]
DELIVERY_RETENTION = timedelta(days=30)
"""How long a repeated delivery is recognized by its digest."""
MAX_BRANCHES = 10_000
"""How many branches of a repository are remembered."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def is_commit(text: str) -> bool:
    """Whether it is a full commit id, SHA-1 or SHA-256. All zeros mean that there is no commit."""
    return bool(_COMMIT.fullmatch(text)) and bool(text.strip("0"))


@dataclass(frozen=True, slots=True)
class Push:
    """`commit` is the new head of the branch; None if the branch was deleted."""

    branch: str
    commit: str | None
    source: PushSource


class PushDecision(Struct, omit_defaults=True):
    branch: str
    target: Target
    job_id: str | UnsetType = UNSET
    env_id: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    """Why no build was queued, if none was."""


class PushDecisions(Struct):
    decisions: list[PushDecision]


@dataclass(frozen=True, slots=True)
class PendingPush:
    """The newest push to an environment, and the last build that a push to it started."""

    env_id: str
    site_id: str
    branch: str
    commit: str | None
    """None for the head of the branch."""
    serial: int
    built_serial: int
    """The serial of the push that the last build was started for."""
    job_id: str | None
    is_result_handled: bool
    """Whether the result of the last build has been acted on."""
    job_status: str | None
    job_error_code: str | None

    @property
    def is_waiting(self) -> bool:
        return self.built_serial < self.serial

    @property
    def has_running_build(self) -> bool:
        return self.job_status in ("queued", "running")


@dataclass(frozen=True, slots=True)
class Connection(Owned):
    """A site and its repository, with what is needed to decide about a push."""

    site_id: str
    account_id: str | None
    team_id: str | None
    mode: Mode
    domain: str
    runtime: Runtime
    status: SiteStatus
    git_repo: str | None
    git_branch: str | None
    rules: list[BranchRule]
    last_hook_at: datetime | None
    branches: dict[str, str] | None
    """The last known head of each branch; None before the first poll."""

    def about(self, *, env: str | None = None, job: str | None = None) -> About:
        return About(
            account_id=self.account_id, team_id=self.team_id, site_id=self.site_id, env_id=env, job_id=job
        )

    def choose_target(self, branch: str) -> Target:
        return choose_target(self.rules, self.git_branch, branch)


@dataclass(frozen=True, slots=True)
class DueRepository:
    """A repository whose branches have to be polled. `owner` is the team or account of its site."""

    site_id: str
    owner: str
    url: str
    last_hook_at: datetime | None
    failures: int


class HookRefused(Unauthenticated):
    code = "hook.refused"
    message = "The delivery is refused: the URL, the secret or the signature is wrong."
    remedy = (
        "Compare the URL with `hook_url` of `GET …/branch-routes`, and set the secret that"
        " `roll_hook_secret` returned in the webhook settings of the forge."
    )


class NoStaging(Conflict):
    code = "git.no_staging"
    message = "The branch is routed to staging, but the site has no staging environment."
    remedy = "Create a staging environment with `POST …/environments`, or route the branch elsewhere."
