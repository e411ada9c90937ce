"""Environments of a site: production, staging and one per branch."""

from functools import partial

from stead.control.environments import captured_mail, events, maintenance, operations, service
from stead.control.environments.workflows import content, creation, destruction, suspension
from stead.control.feature import Feature
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    days, database = worker.settings.environment_idle_days, worker.database

    async def maintain() -> None:
        await in_batches(database, partial(maintenance.suspend_idle, days=days))
        await in_batches(database, maintenance.destroy_without_branch)

    async def remove_mail() -> None:
        await in_batches(database, captured_mail.remove_old)

    return [
        PeriodicTask("environments.maintain", 60, maintain),
        PeriodicTask("environments.remove_mail", 3600, remove_mail),
    ]


FEATURE = Feature(
    name="environments",
    operations=[operations.operation],
    resolvers=[service.visible_environment, service.visible_production],
    id_prefixes={"env_id": "env"},
    workflows=[
        creation.CLONE,
        creation.CREATE,
        destruction.DESTROY,
        suspension.SUSPEND,
        suspension.RESUME,
        content.REFRESH,
        content.RESET,
        content.PUSH,
        destruction.PURGE,
    ],
    tasks=_tasks,
    sealed_columns=[SealedColumn("captured_mails", "id", "content", captured_mail.context)],
    events=[
        events.ENV_CREATED,
        events.ENV_STATUS_CHANGED,
        events.ENV_SUSPENDED,
        events.ENV_RESUMED,
        events.ENV_DESTROYED,
        events.ENV_DESTROY_SCHEDULED,
        events.ENV_DESTROY_CALLED_OFF,
        events.ENV_REFRESHED,
        events.ENV_RESET,
        events.ENV_PUSHED,
        events.ENV_RENEWED,
        events.ENV_FAILED,
    ],
)
