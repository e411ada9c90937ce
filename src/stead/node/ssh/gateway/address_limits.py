"""How many connections an address may have, how fast it may make them, and how often it may fail."""

import time
from collections import Counter, deque
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from stead.shared.token_bucket import TokenBuckets

PER_ADDRESS = 20
"""Connections at the same time."""
UNAUTHENTICATED = 64
"""Connections of all addresses that have not signed in yet."""
UNAUTHENTICATED_PER_ADDRESS = 6
"""Of these. A client signs in with its first connection before it makes many."""
CONNECTIONS = 512
CONNECTIONS_PER_SECOND, CONNECTIONS_AT_ONCE = 1.0, 40
"""New ones of an address."""
FAILURES = 20
"""After so many failures within `FAILURE_SECONDS`, an address is refused until the first ones are older."""
FAILURE_SECONDS = 600.0
_MAX_ADDRESSES = 10_000


class AddressLimits:
    """Of one process of the gateway."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: Counter[str] = Counter()
        self._failures: dict[str, deque[float]] = {}
        self._unauthenticated: Counter[str] = Counter()
        self._pace = TokenBuckets(CONNECTIONS_PER_SECOND, CONNECTIONS_AT_ONCE, now, _MAX_ADDRESSES)

    def admit(self, address: str) -> str:
        """Why a connection is refused; empty if it is admitted. It then ends with `leave`."""
        network = _network(address)
        if self._has_failed(network):
            return "too many failures"
        if not self._pace.take(network):
            return "too many new connections of the address"
        if (
            self._open[network] >= PER_ADDRESS
            or self._unauthenticated[network] >= UNAUTHENTICATED_PER_ADDRESS
        ):
            return "too many connections of the address"
        if self._unauthenticated.total() >= UNAUTHENTICATED or self._open.total() >= CONNECTIONS:
            return "too many connections"
        self._open[network] += 1
        self._unauthenticated[network] += 1
        return ""

    def sign_in(self, address: str) -> None:
        _subtract(self._unauthenticated, _network(address))

    def leave(self, address: str, *, signed_in: bool) -> None:
        _subtract(self._open, _network(address))
        if not signed_in:
            _subtract(self._unauthenticated, _network(address))

    def note_failure(self, address: str) -> None:
        while len(self._failures) >= _MAX_ADDRESSES:
            self._failures.pop(next(iter(self._failures)))
        failures = self._failures.setdefault(_network(address), deque(maxlen=FAILURES))
        failures.append(self._now())

    def _has_failed(self, network: str) -> bool:
        failures = self._failures.get(network)
        if failures is None:
            return False
        while failures and failures[0] < self._now() - FAILURE_SECONDS:
            failures.popleft()
        if not failures:
            del self._failures[network]
        return len(failures) >= FAILURES


def _subtract(counter: Counter[str], network: str) -> None:
    counter[network] -= 1
    if not counter[network]:
        del counter[network]


def _network(address: str) -> str:
    """One customer of an IPv6 provider has a whole network."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Address(int(found) >> 64 << 64))
    return str(getattr(found, "ipv4_mapped", None) or found)
