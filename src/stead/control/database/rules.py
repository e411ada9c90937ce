"""What can go wrong with statements, and what is needed before a change. No I/O."""

from datetime import timedelta

from stead.control.sites.question_rules import SiteRefused
from stead.shared.errors import Conflict, QuotaExceeded

SNAPSHOT_AGE = timedelta(hours=1)
"""How old the snapshot before a change may be."""
EXPORT_WITHIN = timedelta(minutes=30)
DOWNLOAD_FOR = timedelta(minutes=90)
"""Counted from the beginning of the export: there is an hour left, however long it takes."""
WAIT_FOR = timedelta(days=7)
"""How long an export may wait in the queue."""
LATE = timedelta(minutes=45)
"""So long after it has expired or failed, an export may still be uploaded. Then it is removed."""
MAX_LIVE = 3
"""How many exports of a site are queued, are made or can be downloaded."""
PREFIX = "exports/"


def object_name(export: str) -> str:
    return f"{PREFIX}{export}"


class StatementRefused(SiteRefused):
    code = "database.statement_refused"
    message = "The database refuses the statement: {reason}"
    remedy = "Change the statement as the message says. Use `?` for each of the values in `params`."


class SnapshotNeeded(Conflict):
    code = "database.snapshot_needed"
    message = "The site has no snapshot of the last hour, so the change could not be undone."
    remedy = "Take one with `POST /v1/sites/{site_id}/snapshots`, wait for its job, and repeat the request."


class ExportsExceeded(QuotaExceeded):
    code = "quota.exports"
    message = "The site already has {live} exports of its database."
    remedy = "Download one of these, or wait: an export expires 90 minutes after it was begun."


class ExportFailed(Conflict):
    code = "database.export_failed"
    message = "The database could not be exported: {reason}"
    remedy = "Check the names of the tables, and try again."
