"""Backups: snapshots of sites, and restoring them."""

from stead.control.backups import (
    events,
    maintenance_tasks,
    operating,
    operations,
    scheduling,
    service,
    workflows,
)
from stead.control.feature import Feature
from stead.control.jobs.repository_access import repository_password_context
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    if worker.repositories is None:
        return []
    database = worker.database

    async def schedule() -> None:
        await in_batches(database, scheduling.add_sites)
        await in_batches(database, scheduling.queue_due)

    async def report() -> None:
        await in_batches(database, scheduling.report_overdue)
        await in_batches(database, scheduling.expire_unrecoverable)

    async def measure() -> None:
        async with database.reading() as tx:
            await operating.measure(tx, has_second_store=bool(worker.settings.offsite_s3_endpoint))

    return [
        PeriodicTask("backups.schedule", 60, schedule),
        PeriodicTask("backups.report", 600, report),
        PeriodicTask("backups.measure", 300, measure),
        *maintenance_tasks.build_tasks(worker),
    ]


FEATURE = Feature(
    name="backups",
    operations=[operations.operation],
    resolvers=[service.visible_snapshot],
    id_prefixes={"snapshot_id": "snap"},
    workflows=[workflows.CREATE, workflows.RESTORE],
    events=[
        events.SNAPSHOT_COMPLETED,
        events.SNAPSHOT_FAILED,
        events.SNAPSHOT_RESTORED,
        events.SNAPSHOT_RESTORE_FAILED,
        events.BACKUPS_FAILING,
        events.BACKUPS_SUSPICIOUS,
        events.BACKUPS_DAMAGED,
    ],
    tasks=_tasks,
    sealed_columns=[SealedColumn("repositories", "site_id", "password", repository_password_context)],
)
