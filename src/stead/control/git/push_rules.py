"""What a push is and what was decided about it. No I/O."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from stead.control.git.rules import Target
from stead.shared.errors import Conflict, Unauthenticated

Via = Literal["hook", "poll", "deploy"]
KEPT = timedelta(days=30)
"""How long a delivery is known again: its signature does not say when it was made."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def is_commit(text: str) -> bool:
    """A whole commit id, of either kind of hash; all zeros name none."""
    return bool(_COMMIT.fullmatch(text)) and bool(text.strip("0"))


@dataclass(frozen=True, slots=True)
class Push:
    """`commit` is where the branch stands now; None when the branch is gone, empty when nobody said."""

    branch: str
    commit: str | None
    via: Via


class Decision(Struct, omit_defaults=True):
    branch: str
    target: Target
    job_id: str | UnsetType = UNSET
    env_id: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    """Why nothing was built, where nothing was."""


class Decisions(Struct):
    decisions: list[Decision]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The newest push of an environment, and the build that the one before it got."""

    env_id: str
    site_id: str
    branch: str
    commit: str | None
    serial: int
    taken: int
    job_id: str | None
    settled: bool
    job_status: str | None
    job_code: str | None

    @property
    def waits(self) -> bool:
        return self.taken < self.serial

    @property
    def under_way(self) -> bool:
        return self.job_status in ("queued", "running")


class HookRefused(Unauthenticated):
    code = "hook.refused"
    message = "No site takes this delivery: the address, the secret or the signature is wrong."
    remedy = (
        "Compare the address with `hook_url` of `GET …/branch-routes`, and set the secret that"
        " `roll_hook_secret` gave you in the forge."
    )


class NoStaging(Conflict):
    code = "git.no_staging"
    message = "The route leads to staging, and the site has no staging environment."
    remedy = "Make one with `POST …/environments`, or route the branch elsewhere."
