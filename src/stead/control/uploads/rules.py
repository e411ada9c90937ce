"""How large an upload may be, and how long it is kept. No I/O."""

from datetime import timedelta

MOST_BYTES = 1024 * 1024 * 1024
ADDRESS_LASTS = timedelta(hours=1)
KEPT_FOR = timedelta(hours=24)
"""From when it was asked for; also what was never sent is forgotten then."""


def object_name(upload: str) -> str:
    return f"uploads/{upload}"
