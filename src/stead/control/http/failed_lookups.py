"""Limits how often an address may send credentials that do not exist.

Every one of them costs a query. The counts are in memory, so the limit also works without Redis.
"""

import time

from stead.control.http.client_address import network_of
from stead.control.http.principal import Address

MINUTE = 60.0
MAX_ADDRESSES = 50_000
"""Addresses that are remembered. The one that was added first is forgotten first."""


class FailedLookups:
    """A token bucket for each address, stored as the time at which it is full again.

    A lookup spends a token before it begins, so that many at once are limited too. If the credential exists,
    the token is given back.
    """

    def __init__(self, per_minute: int) -> None:
        self._interval = MINUTE / per_minute
        self._full_at: dict[str, float] = {}

    def spend(self, address: Address) -> int:
        """Spend one lookup. Returns the seconds to wait, 0 if it is allowed."""
        now, key = time.monotonic(), network_of(address)
        full_at = max(self._full_at.get(key, now), now) + self._interval
        if full_at - now > MINUTE:
            return max(1, round(full_at - now - MINUTE))
        if key not in self._full_at and len(self._full_at) >= MAX_ADDRESSES:
            del self._full_at[next(iter(self._full_at))]
        self._full_at[key] = full_at
        return 0

    def give_back(self, address: Address) -> None:
        key = network_of(address)
        if key not in self._full_at:
            return
        self._full_at[key] -= self._interval
        if self._full_at[key] <= time.monotonic():
            del self._full_at[key]
