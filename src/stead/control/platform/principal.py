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


@dataclass(frozen=True, slots=True)
class Principal:
    kind: CredentialKind
    id: str
    account_id: AccountId
    scopes: tuple[str, ...]
    allowed: frozenset[str]
    mode: Mode
    pin: Pin | None
    networks: tuple[Network, ...]
    expires_at: datetime
    limits: RateLimits
    ceiling_of: str
    """The team, or the account without one, whose ceiling this credential shares."""

    def may_come_from(self, address: Address) -> bool:
        return not self.networks or any(address in network for network in self.networks)
