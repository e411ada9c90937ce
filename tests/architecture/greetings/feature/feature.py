"""Greetings."""

from stead.control.greetings import events, operations, workflows

from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices


def _tasks(worker: WorkerServices) -> list[Task]:
    async def check_database() -> None:
        async with worker.database.reading() as tx:
            await tx.value("select true")

    return [PeriodicTask("greetings.check_database", 60, check_database)]


FEATURE = Feature(
    name="greetings",
    operations=[operations.operation],
    workflows=[workflows.SEND],
    events=[events.GREETING_SENT],
    tasks=_tasks,
)
