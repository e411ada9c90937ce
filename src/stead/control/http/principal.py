"""Who is calling: a credential, the account it acts for, and everything that narrows it."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal

import msgspec

from stead.shared.ids import AccountId

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Mode = Literal["live", "test"]
CredentialKind = Literal["api_key", "session"]
PinType = Literal["site", "environment", "project", "team"]


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The one resource that a key may see."""

    type: PinType
    id: str


class RateLimits(msgspec.Struct, frozen=True):
    """Requests a minute: per credential and class, and for all credentials under one ceiling."""

    read: int
    write: int
    create: int
    ceiling: int


ACCOUNT_COLUMNS = (
    "a.email, coalesce(t.id, a.id), p.rate_read, p.rate_write, p.rate_create,"
    " coalesce(tp.rate_ceiling, p.rate_ceiling)"
)
"""Columns of the account `a` that a query for a principal selects last: see `AccountAttributes.read`."""

ACCOUNT_JOINS = """
  join plans p on p.name = a.plan
  left join team_members m on m.team_id = a.default_team_id and m.account_id = a.id
    and (m.expires_at is null or m.expires_at > $2)
  left join teams t on t.id = m.team_id
  left join plans tp on tp.name = t.plan
"""
"""What it joins. `$2` is now: a team that one no longer belongs to is nobody's default."""


class AccountAttributes(msgspec.Struct, frozen=True):
    """What the account behind a credential lends to it."""

    email: str
    ceiling_owner: str
    limits: RateLimits

    @classmethod
    def read(cls, email: str, ceiling_owner: str, *rates: int) -> "AccountAttributes":
        return cls(email, ceiling_owner, RateLimits(*rates))


@dataclass(frozen=True, slots=True)
class Principal:
    kind: CredentialKind
    id: str
    account_id: AccountId
    email: str
    scopes: tuple[str, ...]
    allowed: frozenset[str]
    mode: Mode
    pin: Pin | None
    networks: tuple[Network, ...]
    expires_at: datetime
    limits: RateLimits
    ceiling_owner: str
    """The team, or the account without one, whose ceiling this credential shares."""

    @property
    def modes(self) -> list[Mode]:
        """The kinds of resources it sees: a key those of its own mode, a person both."""
        return ["live", "test"] if self.kind == "session" else [self.mode]

    @property
    def pin_type(self) -> PinType | None:
        return self.pin.type if self.pin else None

    @property
    def pin_id(self) -> str | None:
        return self.pin.id if self.pin else None

    def may_come_from(self, address: Address) -> bool:
        return not self.networks or any(address in network for network in self.networks)
