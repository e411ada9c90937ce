"""Reports what this agent logs and measures about itself."""

import time

import nats.errors

from stead.node.metrics import NODE
from stead.node.nats_connection import NatsConnection
from stead.protocol import subjects
from stead.protocol.platform import encode, make_reports
from stead.shared.own_records import own_log, take_samples


class PlatformReporter:
    def __init__(self, node: str, connection: NatsConnection) -> None:
        self._node, self._connection = node, connection

    async def report(self) -> None:
        """Without a connection, lines wait, and samples are left out."""
        if not self._connection.connected:
            return
        client = await self._connection.client()
        reports = make_reports(self._node, time.time(), own_log, take_samples(NODE))
        while reports:
            try:
                await client.publish(subjects.platform_of_node(self._node), encode(reports[0]))
            except (nats.errors.Error, OSError):
                own_log.put_back([line for each in reports for line in each.lines])
                return
            del reports[0]
