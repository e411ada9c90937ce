"""What a domain is, when it is looked up, and the errors of domains. No I/O."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.control.domains.names import get_base
from stead.control.http.principal import Mode
from stead.shared.errors import Conflict, NotFound, QuotaExceeded
from stead.shared.ids import DomainId

DomainStatus = Literal["pending", "verified", "failed"]

MAX_DOMAINS = 100
"""Of one site."""
LATELY = timedelta(days=30)
"""How long a name that somebody had needs a TXT record from everybody else."""
GIVE_UP = timedelta(days=7)
"""How long a pending name is looked up."""
VERIFY_INTERVAL = timedelta(seconds=10)
"""How often an owner may ask for a look-up of one name."""
LEASE = timedelta(seconds=90)
"""Longer than a look-up and an announcement can take."""
PUBLISH_AGAIN = timedelta(seconds=15)

_DELAYS = (
    *(timedelta(seconds=seconds) for seconds in (10, 20, 30)),
    *(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 30, 60)),
)
_JITTER = 0.1

CHALLENGE_PREFIX = "_stead-challenge."
NOT_LOOKED_UP = "The name has not been looked up yet."


@dataclass(frozen=True, slots=True)
class VisibleDomain:
    """A domain of an environment that the caller can see."""

    id: DomainId
    hostname: str
    is_primary: bool
    status: DomainStatus
    requested_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewClaim:
    """A name that an owner wants for an environment."""

    hostname: str
    site_id: str
    env_id: str
    owner: str
    mode: Mode
    is_primary: bool = False
    redirect_to_primary: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A domain as the worker sees it. `owner` is the team or account that owns its site."""

    id: str
    hostname: str
    site_id: str
    env_id: str
    mode: Mode
    region: str
    owner: str
    status: DomainStatus
    reason: str | None
    challenge: str
    pending_since: datetime
    attempts: int
    next_check_at: datetime | None
    is_released: bool


@dataclass(frozen=True, slots=True)
class ServedName:
    """A verified name of an environment. `redirect_to` is another one that visitors are sent to, or empty."""

    hostname: str
    redirect_to: str = ""


def challenge_name(hostname: str) -> str:
    """Where the TXT record that proves a name must be: for a wildcard, at the domain that it is below."""
    return f"{CHALLENGE_PREFIX}{get_base(hostname)}"


def compute_delay(attempts: int) -> timedelta:
    """How long to wait before the next look-up, after this many. The jitter spreads simultaneous claims."""
    delay = _DELAYS[min(attempts, len(_DELAYS)) - 1]
    return delay * (1 + random.uniform(0, _JITTER))  # noqa: S311 - need not be unpredictable


class DomainNotFound(NotFound):
    code = "domain.not_found"
    message = "The domain was not found."
    remedy = "List the domains of the environment with `GET …/domains`."


class DomainIsPrimary(Conflict):
    code = "domain.is_primary"
    message = "{hostname} is the primary domain of the site."
    remedy = "Make another domain the primary one first, or delete the site."


class DomainNotVerified(Conflict):
    code = "domain.not_verified"
    message = "{hostname} is not verified yet."
    remedy = "Add the DNS records that `reason` and `challenge` of the domain describe, and try again."


class DomainNotOfProduction(Conflict):
    code = "domain.not_of_production"
    message = "{hostname} is a domain of an environment besides production."
    remedy = "Attach the domain to the production environment. Only its domains can be the primary one."


class DomainIsWildcard(Conflict):
    code = "domain.is_wildcard"
    message = "{hostname} is a wildcard, and the primary domain has to be one name."
    remedy = "Attach a name without `*` and make it the primary one."


class WildcardNeedsZone(Conflict):
    code = "domain.needs_zone"
    message = "The certificate of {hostname} needs a DNS zone on this platform: {reason}"
    remedy = "Do what the message says and attach the wildcard again. Names without `*` need no zone."


class DomainsOverlap(Conflict):
    code = "domain.overlaps"
    message = "The new owner and the current one would have names below one wildcard domain."
    remedy = "Detach the wildcard, or the names that are below it, before the site changes its owner."


class DomainsExhausted(QuotaExceeded):
    code = "quota.domains"
    message = "The site has {limit} domains, which is the most that a site can have."
    remedy = "Detach a domain that is not needed any more."
