"""The kind of job that switches the version of PHP."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind
from stead.control.sites.rules import PhpVersion


class PhpWork(Struct, frozen=True):
    version: PhpVersion
    force: bool = False
    dry_run: bool = False
    """Only in jobs of an earlier version, in which a dry run was a job. Nothing must be switched for them."""


SWITCH = JobKind(
    "site.config_apply",
    variant="php",
    params=PhpWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=90),
)
