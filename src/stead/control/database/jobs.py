"""The kind of job that exports a database."""

from msgspec import Struct

from stead.control.database.rules import EXPORT_WITHIN
from stead.control.jobs.kinds import JobKind


class ExportWork(Struct, frozen=True):
    environment: str
    export: str
    tables: list[str]
    compress: bool
    statement: str = ""
    """The statement whose result is exported, sealed. Tables are exported if it is empty."""


EXPORT = JobKind(
    "database.export",
    params=ExportWork,
    resource="environment",
    lock="environment",
    limit=EXPORT_WITHIN,
    results={"download_url", "expires_at", "size_bytes"},
)
