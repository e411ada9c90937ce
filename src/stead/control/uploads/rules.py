"""How large an upload may be, and how long it is kept. No I/O."""

from datetime import timedelta

MAX_BYTES = 1024 * 1024 * 1024
URL_VALID_FOR = timedelta(hours=1)
KEPT_FOR = timedelta(hours=24)
"""Counted from the creation of the upload. Uploads that were never sent are removed then, too."""


def object_name(upload: str) -> str:
    return f"uploads/{upload}"
