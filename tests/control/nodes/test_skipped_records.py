"""Nodes report how many edge records do not fit in the memory of their nginx; operators see it."""

import pytest
from structlog.testing import capture_logs

from stead.control import metrics
from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.control.settings import Settings
from stead.control.worker import WorkerProgram
from stead.protocol.commands import Heartbeat
from tests.enrolled_nodes import record_node

NODE = "node-full"


def heartbeat(skipped: int) -> Heartbeat:
    return Heartbeat(NODE, "nowhere", 0, 0, "0.1.0", records_skipped=skipped)


async def test_a_change_is_an_event_in_the_log_of_the_worker(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = WorkerProgram(settings)

    async def register(_: Heartbeat, __: str) -> None:
        """Needs NATS and is not part of this test."""

    monkeypatch.setattr(worker, "_register_node", register)
    async with worker.database.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
    with capture_logs() as logged:
        for skipped in (0, 3, 3, 0):
            await worker._record_heartbeat(heartbeat(skipped))
    await worker.database.close()
    await worker.dispatch_database.close()
    events = [entry for entry in logged if entry["event"] == "edge.records_skipped"]
    assert [(each["node"], each["skipped"], each["before"]) for each in events] == [
        (NODE, 3, 0),
        (NODE, 0, 3),
    ]


async def test_the_number_is_a_metric(plane: ControlPlane) -> None:
    async with plane.database.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
    for skipped in (7, 0):
        async with plane.database.transaction() as tx:
            await nodes.record_heartbeat(tx, heartbeat(skipped))
        await plane._update_node_metrics()
        assert metrics.API.value("stead_edge_records_skipped", node=NODE) == skipped
