"""Watches the key exchanges of a connection. While one is unfinished, AsyncSSH keeps every packet instead of
sending it, without any limit, and nothing tells that the client is slow."""

import asyncio
from collections.abc import Callable
from typing import Any

import asyncssh

SECONDS = 20.0
"""How long a key exchange may take."""
MAX_KEPT = 1024
"""How many packets are kept for a client meanwhile. Those of programs stop; these are answers to requests."""


class KeyExchanges:
    """`on_change` is called with True when an exchange begins, and with False when the connection can be
    written to again. `disconnect` is called with the reason when the client does not finish one."""

    def __init__(
        self,
        connection: asyncssh.SSHServerConnection,
        on_change: Callable[[bool], None],
        disconnect: Callable[[str], None],
        seconds: float = SECONDS,
    ) -> None:
        self._connection, self._on_change, self._disconnect = connection, on_change, disconnect
        self._seconds = seconds
        self.begun = 0
        """How many there were."""
        self._limit: asyncio.TimerHandle | None = None
        # There is no other way to learn of them.
        self._begin, self._end = connection._send_kexinit, connection._send_deferred_packets  # noqa: SLF001
        self._send = connection.send_packet
        connection._send_kexinit = self._on_begin  # type: ignore[method-assign] # noqa: SLF001
        connection._send_deferred_packets = self._on_end  # type: ignore[method-assign] # noqa: SLF001

    def close(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _on_begin(self) -> None:
        self.close()
        self.begun += 1
        self._limit = asyncio.get_running_loop().call_later(
            self._seconds, self._disconnect, "the key exchange takes too long"
        )
        self._connection.send_packet = self._send_during_exchange  # type: ignore[method-assign]
        self._on_change(True)
        self._begin()

    def _on_end(self) -> None:
        """Also called when somebody has signed in, perhaps during an exchange."""
        if self._connection._kex_complete:  # noqa: SLF001
            self.close()
            self._connection.send_packet = self._send  # type: ignore[method-assign]
            self._on_change(False)
        self._end()

    def _send_during_exchange(self, pkttype: int, *args: bytes, **options: Any) -> None:
        self._send(pkttype, *args, **options)
        if len(self._connection._deferred_packets) == MAX_KEPT:  # noqa: SLF001
            self._disconnect("too many requests during a key exchange")
