"""Reading a receiver's response: a short, printable excerpt without secrets, and its `Retry-After` header."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

MAX_EXCERPT = 200
_MIN_PARTIAL_SECRET = 8
_SECONDS = re.compile(r"\d{1,9}")


def excerpt_of(body: bytes, secrets: Sequence[str]) -> str | None:
    """The beginning of a response body. Occurrences of the endpoint's secrets are removed."""
    if not body:
        return None
    text = body.decode("utf-8", "replace")
    for secret in secrets:
        for form in (secret, secret.partition("_")[2]):
            text = text.replace(form, "…")
            # Reading stops at a limit, so the text may end with a part of the secret.
            text = _without_partial_secret(text, form)
    text = "".join([character if character.isprintable() else " " for character in text])
    return " ".join(text.split())[:MAX_EXCERPT] or None


def _without_partial_secret(text: str, secret: str) -> str:
    for length in range(min(len(secret), len(text)), _MIN_PARTIAL_SECRET - 1, -1):
        if text.endswith(secret[:length]):
            return f"{text[:-length]}…"
    return text


def parse_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Parse a number of seconds or an HTTP date. Return None for anything else."""
    if value is None:
        return None
    if _SECONDS.fullmatch(value.strip()):
        return timedelta(seconds=int(value))
    try:
        then = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(then - now, timedelta()) if then.tzinfo is not None else None
