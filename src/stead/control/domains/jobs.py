"""The kinds of job of domains."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class AttachWork(Struct, frozen=True):
    environment: str
    domains: list[str]
    """Their ids. The first one was asked for; `include_www` adds a second."""


class PrimaryWork(Struct, frozen=True):
    domain: str
    previous: str
    """The id of the primary domain before the job, which its undo restores."""


ATTACH = JobKind(
    "domain.attach",
    params=AttachWork,
    resource="domain",
    lock="environment",
    limit=timedelta(minutes=5),
    results={"url", "env_id"},
)

MAKE_PRIMARY = JobKind(
    "domain.attach",
    variant="primary",
    params=PrimaryWork,
    resource="domain",
    lock="site",
    limit=timedelta(minutes=5),
    results={"url", "env_id"},
)
