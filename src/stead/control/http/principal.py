"""The principal of a request: its credential, the account it acts for, and its restrictions."""

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
    """Requests per minute: per credential and rate class, a ceiling for all credentials of an owner, and a
    limit on what all credentials of an account create."""

    read: int
    write: int
    create: int
    ceiling: int
    account_create: int = 60_000_000


ACCOUNT_COLUMNS = (
    "a.email, a.suspended_at is not null, a.closed_at is not null, coalesce(t.id, a.id), p.rate_read,"
    " p.rate_write, p.rate_create, coalesce(tp.rate_ceiling, p.rate_ceiling), p.rate_account_create"
)
"""Columns of the account `a` that a query for a principal selects last: see `AccountAttributes.read`."""

ACCOUNT_JOINS = """
  join plans p on p.name = a.plan
  left join team_members m on m.team_id = a.default_team_id and m.account_id = a.id
    and (m.expires_at is null or m.expires_at > $2)
  left join teams t on t.id = m.team_id
  left join plans tp on tp.name = t.plan
"""
"""The joins for these columns. `$2` is the current time: an expired membership gives no default team."""


class AccountAttributes(msgspec.Struct, frozen=True):
    """The attributes of a principal that come from its account."""

    email: str
    is_suspended: bool
    is_closed: bool
    """Closing revokes the credentials. One that was being created meanwhile ends in this way."""
    ceiling_owner: str
    limits: RateLimits

    @classmethod
    def read(
        cls,
        email: str,
        is_suspended: bool,
        is_closed: bool,
        ceiling_owner: str,
        *rates: int,
    ) -> "AccountAttributes":
        return cls(email, is_suspended, is_closed, ceiling_owner, RateLimits(*rates))


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
    """The default team of the account, or the account itself: all its credentials share one ceiling."""
    obtained_by: tuple[str, ...] = ()
    """The keys through which this secret was obtained, by rolling. It ends when one of them is revoked."""
    signed_in_at: datetime | None = None
    """When the person of a session typed the password."""

    @property
    def modes(self) -> list[Mode]:
        """The modes of the resources it sees: a key only its own mode, a session both."""
        return ["live", "test"] if self.kind == "session" else [self.mode]

    @property
    def pin_type(self) -> PinType | None:
        return self.pin.type if self.pin else None

    @property
    def pin_id(self) -> str | None:
        return self.pin.id if self.pin else None

    def allows_address(self, address: Address) -> bool:
        return not self.networks or any(address in network for network in self.networks)
