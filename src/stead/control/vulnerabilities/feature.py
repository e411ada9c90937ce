"""Vulnerabilities of WordPress, plugins and themes."""

from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches
from stead.control.vulnerabilities import events, operations, updating


def _tasks(worker: WorkerServices) -> list[Task]:
    database, settings = worker.database, worker.settings

    async def update() -> None:
        await updating.update(database, settings.vulnerability_feed, settings.vulnerability_feed_key)

    async def match() -> None:
        await in_batches(database, updating.match)
        await in_batches(database, updating.announce)

    async def remove() -> None:
        await updating.remove_unused(database)

    tasks: list[Task] = [
        PeriodicTask("vulnerabilities.match", 30, match),
        PeriodicTask("vulnerabilities.remove_unused", 86_400, remove),
    ]
    if settings.vulnerability_feed:
        tasks.append(PeriodicTask("vulnerabilities.update", 300, update))
    return tasks


FEATURE = Feature(
    name="vulnerabilities",
    operations=[operations.operation],
    events=[events.VULNERABILITY_MATCHED],
    tasks=_tasks,
    measure=updating.measure,
)
