"""The kind of job that exports a database."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class ExportWork(Struct, frozen=True):
    environment: str
    tables: list[str]
    compress: bool


EXPORT = JobKind(
    "database.export",
    params=ExportWork,
    resource="environment",
    lock="environment",
    limit=timedelta(minutes=30),
    results={"download_url", "expires_at", "size_bytes"},
    parallel=2,
)
