"""Connections of a blocking HTTP request that another thread can end, also while the server says nothing."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.poolmanager import pool_classes_by_scheme

Track = Callable[[socket.socket], None]


class StoppableConnections:
    def __init__(self) -> None:
        self.stopped = False
        self._copies: list[socket.socket] = []

    @contextmanager
    def session(self) -> Iterator[requests.Session]:
        """Requests of this session fail once `stop` was called."""
        with requests.Session() as session:
            for scheme in pool_classes_by_scheme:
                session.mount(f"{scheme}://", _TrackingAdapter(self._add))
            try:
                yield session
            finally:
                for copy in self._copies:
                    copy.close()

    def stop(self) -> None:
        """End the connections. Called by another thread than the one that uses them."""
        self.stopped = True
        for copy in list(self._copies):
            # It may have ended already.
            with suppress(OSError):
                copy.shutdown(socket.SHUT_RDWR)

    def _add(self, connected: socket.socket) -> None:
        # A copy, because TLS and responses take the original over.
        self._copies.append(connected.dup())
        if self.stopped:
            self.stop()


class _TrackingAdapter(HTTPAdapter):
    def __init__(self, track: Track) -> None:
        self._track = track
        super().__init__()

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more)
        self.poolmanager.pool_classes_by_scheme = {
            scheme: _tracking_pool(pool, self._track) for scheme, pool in pool_classes_by_scheme.items()
        }


def _tracking_pool(pool: type[HTTPConnectionPool], track: Track) -> type[HTTPConnectionPool]:
    connection: Any = pool.ConnectionCls

    class TrackedConnection(connection):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            connected: socket.socket = super()._new_conn()
            track(connected)
            return connected

    return type("TrackedPool", (pool,), {"ConnectionCls": TrackedConnection})
