"""Nodes: heartbeats, placement and reachability."""

import structlog

from stead.control.environments import maintenance
from stead.control.feature import Feature
from stead.control.nodes import service
from stead.control.tasks import PeriodicTask, Task, WorkerServices

log = structlog.get_logger()


def _tasks(worker: WorkerServices) -> list[Task]:
    async def update() -> None:
        async with worker.database.transaction() as tx:
            lost, back = await service.update_reachability(tx)
            await maintenance.update_reachability(tx)
        if lost or back:
            log.warning("nodes.changed", sites_lost=len(lost), sites_back=len(back))

    return [PeriodicTask("nodes.update_reachability", 5, update)]


FEATURE = Feature(name="nodes", tasks=_tasks)
