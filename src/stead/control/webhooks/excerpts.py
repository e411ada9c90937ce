"""What of a stranger's answer may be kept and shown: short, printable, and without the endpoint's secrets."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

LENGTH = 200
_SECONDS = re.compile(r"\d{1,9}")


def excerpt(body: bytes, secrets: Sequence[str]) -> str | None:
    if not body:
        return None
    text = body.decode("utf-8", "replace")
    for secret in secrets:
        for form in (secret, secret.partition("_")[2]):
            text = text.replace(form, "…")
            # A secret that is cut off where we stopped reading is one no less.
            text = _without_end(text, form)
    text = "".join([letter if letter.isprintable() else " " for letter in text])
    return " ".join(text.split())[:LENGTH] or None


def _without_end(text: str, form: str) -> str:
    for length in range(min(len(form), len(text)), 7, -1):
        if text.endswith(form[:length]):
            return f"{text[:-length]}…"
    return text


def retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Seconds, or a date; None for anything else."""
    if value is None:
        return None
    if _SECONDS.fullmatch(value.strip()):
        return timedelta(seconds=int(value))
    try:
        then = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(then - now, timedelta()) if then.tzinfo is not None else None
