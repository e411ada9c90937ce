"""The kinds of job of environments."""

from datetime import timedelta

from msgspec import Struct

from stead.control.environments.rules import EnvironmentStatus
from stead.control.jobs.kinds import JobKind
from stead.protocol.work.hosting import PushMode

_SHORT, _LONG = timedelta(minutes=5), timedelta(minutes=60)
_CREATED = {"env_id", "url", "branch", "deployment_id", "release_id", "artifact_id", "digest"}


class EnvironmentWork(Struct, frozen=True):
    """A failed job returns to `status_before` and `reason_before`."""

    environment: str
    status_before: EnvironmentStatus = "running"
    reason_before: str | None = None
    why: str | None = None
    """Why a job was queued without a request: the environment was idle, or its branch was deleted."""
    copy_uploads: bool | None = None
    """None is as it was when the environment was created."""
    push: PushMode = "files"
    """What a push replaces."""
    node: str | None = None
    """The node of the environment when the job was queued."""


CLONE = JobKind(
    "environment.clone",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_LONG,
    results=_CREATED,
)

CREATE = JobKind(
    "environment.create",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_LONG,
    results=_CREATED,
)

DESTROY = JobKind(
    "environment.destroy",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_SHORT,
    results={"env_id"},
)

SUSPEND = JobKind(
    "environment.suspend",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_SHORT,
    results={"env_id"},
)

RESUME = JobKind(
    "environment.resume",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_SHORT,
    results={"env_id", "url", "branch"},
)

REFRESH = JobKind(
    "environment.refresh",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_LONG,
    results=_CREATED,
)

RESET = JobKind(
    "environment.reset",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_SHORT,
    results={"env_id", "url", "branch"},
)

PUSH = JobKind(
    "environment.push",
    params=EnvironmentWork,
    resource="environment",
    lock="site",
    limit=_LONG,
    results=_CREATED,
)

PURGE = JobKind(
    "environment.destroy",
    variant="purge",
    params=EnvironmentWork,
    resource="environment",
    lock="environment",
    limit=_SHORT,
)
"""Removes the files of an environment from its node once its deleted site can no longer be recovered."""
