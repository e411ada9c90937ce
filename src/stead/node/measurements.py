"""Reads the metrics of a node that are not counted where they occur: disk, journal and nginx."""

from pathlib import Path

from stead.edge.admin import AdminFailed, EdgeAdmin
from stead.node import metrics
from stead.node.disk_space import DiskSpace
from stead.node.journal import Journal
from stead.node.nats_connection import NatsConnection
from stead.shared.metrics import set_all

MEASURE_SECONDS = 5.0
COUNT_TO = 1_000


class Measurements:
    """`admin_socket` is that of this node's nginx. It is read over a connection of its own, because the feed
    must not share its connection."""

    def __init__(
        self, connection: NatsConnection, journal: Journal, space: DiskSpace, admin_socket: Path
    ) -> None:
        self._connection, self._journal, self._space = connection, journal, space
        self._nginx = EdgeAdmin(admin_socket)

    async def measure(self) -> None:
        metrics.nats_connected.set(self._connection.connected)
        metrics.results_waiting.set(len(self._journal.pending_reports(COUNT_TO)))
        usage = self._space.usage
        metrics.disk_size.set(usage.size)
        metrics.disk_free.set(usage.free)
        metrics.disk_files_free.set(usage.files_free)
        metrics.short_of_space.set(self._space.is_short)
        await self._measure_edge()

    async def close(self) -> None:
        await self._nginx.close()

    async def _measure_edge(self) -> None:
        try:
            state = await self._nginx.state()
        except AdminFailed:
            metrics.edge_up.set(0)
            metrics.edge_complete.set(0)
            return
        metrics.edge_up.set(1)
        metrics.edge_complete.set(state.complete)
        metrics.edge_hosts.set(state.hosts)
        set_all(metrics.edge_memory_free, state.free)
        set_all(metrics.edge_memory_size, state.size)
