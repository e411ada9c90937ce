"""The states of a certificate, why there may be none, and when it is tried again. No I/O."""

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
    "internal",
]

Stage = Literal["wanted", "stored", "told", "settled"]
"""How far the certificate in hand has come: kept here, known to the edges, told by the site's records."""

ATTEMPT_SECONDS = 120
LEASE = timedelta(seconds=150)
"""Longer than an attempt can take: whoever holds a lease that ended works no more."""

PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
)
JITTER = 0.1
RENEWAL_JITTER = 0.01
SOONEST_RENEWAL = timedelta(hours=1)
LONGEST_DETAIL = 400

ORDER_GOES_ON: frozenset[Reason] = frozenset(
    {"dns", "dns_unanswered", "ca_rate_limited", "ca_unreachable", "ca_untrusted", "edges", "internal"}
)
"""Reasons that say nothing against the order that was placed: the next attempt takes it up again."""


class Problem(Exception):
    """Why there is no certificate, in words that its owner can act on."""

    def __init__(self, reason: Reason, sentence: str, *, wait: timedelta = timedelta()) -> None:
        super().__init__(sentence)
        self.reason: Reason = reason
        self.sentence, self.wait = sentence, wait


class LeaseLost(Exception):
    """Another worker has taken the certificate over, or nobody wants it any more."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A host that needs a certificate, as the worker that holds its lease sees it."""

    host: str
    site_id: str
    region: str
    state: State
    error_code: Reason | None
    chain: str | None
    sealed_key: bytes | None
    expires_at: datetime | None
    stage: Stage
    told_region: str | None
    """Whose edges have, or may have, its certificate: those must hear when it is over."""
    order_uri: str | None
    order_key: bytes | None
    challenge: str | None
    forgotten: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate as the authority handed it out, with the private key in PEM."""

    chain: str
    key: bytes
    ca: str
    issued_at: datetime
    expires_at: datetime


def pause_after(attempts: int) -> timedelta:
    """How long to wait after so many failures in a row, spread so that many do not come back at once."""
    longest = PAUSES[min(attempts, len(PAUSES)) - 1]
    return longest * (1 + random.uniform(0, JITTER))  # noqa: S311 - chance that nobody need not guess


def renewal_of(issued_at: datetime, expires_at: datetime, *, now: datetime) -> datetime:
    """Two thirds into its life, and a little later for most. Never at once: were the authority's clock far
    behind ours, one certificate would follow another without end."""
    life = expires_at - issued_at
    wanted = issued_at + life * (2 / 3 + random.uniform(0, RENEWAL_JITTER))  # noqa: S311
    return max(wanted, now + SOONEST_RENEWAL)


def quoted(detail: str | None) -> str:
    """What somebody else said, fit for one line of ours."""
    line = " ".join((detail or "").split())
    return line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"
