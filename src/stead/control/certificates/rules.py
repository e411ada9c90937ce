"""The states of a certificate, the reasons for failure, and the times of retries and renewals. No I/O."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

State = Literal["unconfigured", "not_registered", "pending", "valid", "expired"]
"""`unconfigured`: nothing issues certificates here. `not_registered`: it waits for its first attempt."""

Reason = Literal[
    "dns",
    "dns_unanswered",
    "challenge_failed",
    "caa",
    "ca_refused",
    "ca_rate_limited",
    "ca_unreachable",
    "ca_untrusted",
    "edges",
    "zone",
    "internal",
]

Stage = Literal["wanted", "stored", "told", "settled"]
"""How far the newest certificate has come.

`wanted`: not issued yet. `stored`: issued and in the database. `told`: applied by the edges. `settled`: the
site's edge records say that the host has it.
"""

ATTEMPT_SECONDS = 120
LEASE = timedelta(seconds=150)
"""Longer than an attempt can take: a worker whose lease has ended is no longer working."""

RETRY_DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
)
JITTER = 0.1
RENEWAL_JITTER = 0.01
EARLIEST_RENEWAL = timedelta(hours=1)
MIN_CHECK_DELAY, DEFAULT_CHECK_DELAY, MAX_CHECK_DELAY = (timedelta(hours=hours) for hours in (1, 6, 24))
"""How long to wait before asking the authority again for the renewal time of a certificate."""
FIRST_CHECK_DELAY = MAX_CHECK_DELAY
"""A certificate is a day old when the authority is asked first. An authority that always answers "now" can
therefore cause one order per host and day, not orders without end.
"""
MAX_DETAIL_LENGTH = 400

ORDERS_PERIOD = timedelta(hours=3)
"""How long an order counts toward the limit of the site's owner. Public authorities count for as long."""
OWNER_LIMIT_SPREAD = timedelta(minutes=30)
_MANY_ORDERS = (
    "Many certificates were requested for your sites within three hours. The request is retried"
    " automatically."
)

ORDER_STAYS_VALID: frozenset[Reason] = frozenset(
    {
        *("dns", "dns_unanswered", "zone", "edges", "internal"),
        *("ca_rate_limited", "ca_unreachable", "ca_untrusted"),
    }
)
"""Reasons that do not concern the order itself: the next attempt continues with the same order."""


class Problem(Exception):
    """Why there is no certificate. The message tells the site's owner what to do."""

    def __init__(self, reason: Reason, message: str, *, wait: timedelta = timedelta()) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message, self.wait = message, wait


class OwnerLimitReached(Problem):
    """The limit of the platform for the sites of one owner. Nothing has failed: it is no attempt."""

    def __init__(self, wait: timedelta) -> None:
        # Not all at once: there may be hundreds, and one place.
        spread = random.uniform(0, OWNER_LIMIT_SPREAD.total_seconds())  # noqa: S311 - need not be unpredictable
        super().__init__("ca_rate_limited", _MANY_ORDERS, wait=wait + timedelta(seconds=spread))


class LeaseLost(Exception):
    """Another worker has taken the certificate over, or it has been moved or removed."""


@dataclass(frozen=True, slots=True)
class ClaimedCertificate:
    """The row of a host that needs a certificate, as read by the worker that holds its lease."""

    host: str
    site_id: str
    region: str
    state: State
    error_code: Reason | None
    chain: str | None
    sealed_key: bytes | None
    expires_at: datetime | None
    stage: Stage
    published_region: str | None
    """The region whose edges have, or may have, the certificate, and from which it must be withdrawn."""
    order_uri: str | None
    order_key: bytes | None
    challenge: str | None
    """The key of the challenge record that the edges have, or may have."""
    removed: bool
    """The host needs no certificate any more. The row stays until the edges have deleted theirs."""
    attempts: int


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate as the authority issued it, with its private key in PEM."""

    chain: str
    key: bytes
    ca: str
    issued_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RenewalWindow:
    """When the authority suggests renewing a certificate."""

    start: datetime
    end: datetime


def compute_retry_delay(failures: int) -> timedelta:
    """How long to wait after this many failures in a row. The jitter spreads simultaneous failures."""
    delay = RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1]
    return delay * (1 + random.uniform(0, JITTER))  # noqa: S311 - need not be unpredictable


def compute_renewal_time(issued_at: datetime, expires_at: datetime, *, now: datetime) -> datetime:
    """Two thirds into the certificate's life, plus jitter, and never at once.

    If the authority's clock were far behind ours, an immediate renewal would repeat without end.
    """
    life = expires_at - issued_at
    renewal = issued_at + life * (2 / 3 + random.uniform(0, RENEWAL_JITTER))  # noqa: S311
    return max(renewal, now + EARLIEST_RENEWAL)


def apply_renewal_window(
    window: RenewalWindow | None, planned: datetime, *, seed: str, now: datetime
) -> datetime:
    """A random moment in the window, or at once if that has passed, but never later than planned.

    `seed` is the certificate: it gets the same moment at every check. With a new moment each time, the
    earliest would count, and all certificates would be renewed when the window begins.
    """
    if window is None or window.end <= window.start:
        return planned
    length = window.end - window.start
    moment = window.start + length * random.Random(seed).random()  # noqa: S311
    return min(max(moment, now), planned)


def compute_check_delay(wait: timedelta) -> timedelta:
    """`wait` is what the authority asks for, or zero."""
    return min(max(wait or DEFAULT_CHECK_DELAY, MIN_CHECK_DELAY), MAX_CHECK_DELAY)


def shorten_detail(detail: str | None) -> str:
    """Fit a message of the authority into one line of ours."""
    line = " ".join((detail or "").split())
    return line if len(line) <= MAX_DETAIL_LENGTH else f"{line[:MAX_DETAIL_LENGTH]}…"
