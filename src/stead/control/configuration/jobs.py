"""The kinds of job that apply configuration."""

from datetime import timedelta

from msgspec import Struct

from stead.control.configuration.rules import Settings
from stead.control.jobs.kinds import JobKind

_LIMIT = timedelta(minutes=5)


class ConfigurationWork(Struct, frozen=True):
    """`subject` is the id of the site or the environment whose settings change."""

    subject: str
    change: Settings


CONFIGURE_SITE = JobKind(
    "site.config_apply", params=ConfigurationWork, resource="site", lock="site", limit=_LIMIT
)
CONFIGURE_ENVIRONMENT = JobKind(
    "environment.config_apply",
    params=ConfigurationWork,
    resource="environment",
    lock="environment",
    limit=_LIMIT,
)
