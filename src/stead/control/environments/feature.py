"""Environments of a site: production, staging and one per branch."""

from functools import partial

from stead.control.environments import operations, service, workflows
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    days, database = worker.settings.environment_idle_days, worker.database

    async def tend() -> None:
        await in_batches(database, partial(service.suspend_idle, days=days))
        await in_batches(database, service.destroy_abandoned)

    return [PeriodicTask("environments.tend", 60, tend)]


FEATURE = Feature(
    name="environments",
    operations=[operations.operation],
    resolvers=[service.visible_environment],
    id_prefixes={"env_id": "env"},
    workflows=[
        workflows.CLONE,
        workflows.CREATE,
        workflows.DESTROY,
        workflows.SUSPEND,
        workflows.RESUME,
        workflows.REFRESH,
        workflows.RESET,
        workflows.PUSH,
        workflows.PURGE,
    ],
    tasks=_tasks,
)
