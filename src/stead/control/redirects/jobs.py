"""The kind of job that replaces the redirects of a site."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind
from stead.control.redirects.rules import RedirectRule


class RedirectsWork(Struct, frozen=True):
    rules: list[RedirectRule]


REPLACE_REDIRECTS = JobKind(
    "job.redirects_apply", params=RedirectsWork, resource="site", lock="site", limit=timedelta(minutes=5)
)
