"""The open connections of a server: how many there are, who opened them, and which may be closed first."""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from stead.control.http.client_address import network_of, parse_address
from stead.control.http.principal import Network


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one listening port. Bytes and counts apply to one request, or to one connection."""

    head_seconds: float = 10.0
    body_seconds: float = 30.0
    write_seconds: float = 30.0
    """How long a client may read nothing while a response waits to be sent."""
    head_bytes: int = 32 * 1024
    headers: int = 100
    body_bytes: int = 4 * 1024 * 1024
    """More than any operation reads, so that an operation can refuse a large body and the client can read
    the response before the connection is closed."""
    pipelined: int = 16
    per_address: int = 256
    total: int = 4096


class Closable(Protocol):
    def give_way(self) -> None: ...


class Connections:
    """`exempt` are the networks of trusted proxies: behind them are many clients with one address."""

    def __init__(self, limits: ConnectionLimits, exempt: tuple[Network, ...] = ()) -> None:
        self.limits, self._exempt = limits, exempt
        self.is_checked = False
        """Whether a timer that checks the deadlines of all connections is running."""
        self._per_address: Counter[str] = Counter()
        self._open: dict[Closable, str] = {}
        self._waiting: dict[Closable, None] = {}
        """Connections between two requests or in the head of one, those that wait longest first."""

    def add(self, connection: Closable, peer: str | None) -> bool:
        """False if its address has too many. If there are too many in total, another one is closed."""
        address = self._counted_address(peer)
        if address and self._per_address[address] >= self.limits.per_address:
            return False
        if len(self._open) >= self.limits.total:
            oldest = next(iter(self._waiting), None)
            if oldest is None:
                return False
            self.remove(oldest)
            oldest.give_way()
        self._per_address[address] += 1
        self._open[connection] = address
        self._waiting[connection] = None
        return True

    def remove(self, connection: Closable) -> None:
        """Does nothing if it was never accepted, or was removed already."""
        address = self._open.pop(connection, None)
        self._waiting.pop(connection, None)
        if address is None:
            return
        self._per_address[address] -= 1
        if not self._per_address[address]:
            del self._per_address[address]

    def begin_request(self, connection: Closable) -> None:
        self._waiting.pop(connection, None)

    def end_request(self, connection: Closable) -> None:
        if connection in self._open:
            self._waiting[connection] = None

    def _counted_address(self, peer: str | None) -> str:
        """Empty if connections from there are not limited."""
        address = parse_address(peer)
        if address is None or any(address in network for network in self._exempt):
            return ""
        return network_of(address)
