"""The kinds of job that change access to a site."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class PasswordWork(Struct, frozen=True):
    environment: str
    user: str
    password_hash: str
    """Sealed."""


RESET_ADMIN_PASSWORD = JobKind(
    "site.admin_password_reset",
    params=PasswordWork,
    resource="site",
    lock="environment",
    limit=timedelta(minutes=5),
)


class ApplyKeysWork(Struct, frozen=True):
    pass


APPLY_KEYS = JobKind(
    "site.ssh_keys_apply", params=ApplyKeysWork, resource="site", lock="site", limit=timedelta(minutes=5)
)
