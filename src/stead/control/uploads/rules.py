"""How large an upload may be, and how long it is kept. No I/O."""

from datetime import timedelta

from stead.shared.errors import QuotaExceeded

MAX_BYTES = 1024 * 1024 * 1024
MAX_OPEN = 50
"""How many uploads of an owner may wait to be built."""
URL_VALID_FOR = timedelta(hours=1)
KEPT_FOR = timedelta(hours=24)
"""Counted from the creation of the upload. Uploads that were never sent are removed then, too."""


PREFIX = "uploads/"


def object_name(upload: str) -> str:
    return f"{PREFIX}{upload}"


class UploadsExhausted(QuotaExceeded):
    code = "quota.uploads"
    message = "{limit} uploads are waiting to be built."
    remedy = "Build an upload that was sent, or wait: an upload that is not built expires after one day."
