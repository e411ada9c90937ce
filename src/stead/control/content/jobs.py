"""The kind of job that makes many changes to content."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class ContentWork(Struct, frozen=True):
    environment: str
    changes: str
    """Sealed: drafts are not for everybody who sees the job. A list of kinds and bodies of questions."""


BATCH = JobKind(
    "content.batch",
    params=ContentWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=30),
)
