"""Which requests are sent again, and when. No I/O."""

import random
from typing import Literal, NamedTuple

Idempotent = Literal["natural", "key", "none"]

MAX_WAIT = 60.0
"""A server that asks for more is not waited for: the error tells the caller."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_TRANSIENT = frozenset({408, 500, 502, 503, 504})


class Failure(NamedTuple):
    """What came of an attempt. The status is 0 if no complete response arrived."""

    status: int = 0
    type: str | None = None
    code: str | None = None
    retry_after: float | None = None
    was_sent: bool = True
    """Whether the server may have received the request."""

    @property
    def may_have_had_effect(self) -> bool:
        return self.was_sent and (self.status == 0 or self.status >= 500)


def wait_before_retry(failure: Failure, attempt: int, idempotent: Idempotent) -> float | None:
    """In seconds, or None if the request must not be sent again. `attempt` counts from 0."""
    if not _may_repeat(failure, idempotent):
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= MAX_WAIT else None
    longest: float = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0**attempt)
    return longest * (0.5 + random.random() / 2)  # noqa: S311 - to spread clients, not to hide anything


def _may_repeat(failure: Failure, idempotent: Idempotent) -> bool:
    if not failure.was_sent:
        return True
    if failure.status == 429:
        # Refused before it had an effect. A quota does not pass by waiting.
        return failure.type in ("rate_limit", None)
    if idempotent == "none":
        return False
    return failure.status == 0 or failure.status in _TRANSIENT or failure.code == "idempotency.in_flight"


def read_retry_after(value: str | None) -> float | None:
    """The header in seconds. A date, which our API does not send, means an ordinary wait."""
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None
