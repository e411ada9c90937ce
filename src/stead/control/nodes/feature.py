"""Nodes: heartbeats, placement and reachability."""

import structlog

from stead.control.engines.postgres import Tx
from stead.control.environments import maintenance
from stead.control.feature import Feature
from stead.control.nodes import service
from stead.control.nodes.rules import LOST_AFTER
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches

log = structlog.get_logger()


def _tasks(worker: WorkerServices) -> list[Task]:
    async def update(tx: Tx) -> int:
        lost, back = await service.update_reachability(tx)
        if lost or back:
            log.warning("nodes.changed", sites_lost=len(lost), sites_back=len(back))
        return len(lost) + len(back) + await maintenance.update_reachability(tx)

    async def update_if_heard() -> None:
        """While NATS is down or hangs, and right after the start of a worker, every node is silent. That says
        nothing about the nodes, which go on serving."""
        if worker.could_hear_nodes_for(LOST_AFTER.total_seconds()):
            await in_batches(worker.database, update)

    return [PeriodicTask("nodes.update_reachability", 5, update_if_heard)]


FEATURE = Feature(name="nodes", tasks=_tasks, measure=service.measure)
