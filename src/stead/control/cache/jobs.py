"""The kind of job that purges the page cache of an environment."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class PurgeWork(Struct, frozen=True):
    environment: str
    url: str | None = None
    tag: str | None = None


PURGE_CACHE = JobKind(
    "job.cache_purge",
    params=PurgeWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=5),
)
