"""Jobs, as callers of the API see them."""

from functools import partial

from stead.control.feature import Feature
from stead.control.jobs import events, operations, service
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    return [PeriodicTask("jobs.remove_old", 600, partial(in_batches, worker.database, service.remove_old))]


FEATURE = Feature(
    name="jobs",
    operations=[operations.operation],
    resolvers=[service.visible_job],
    id_prefixes={"job_id": "job"},
    tasks=_tasks,
    events=[events.JOB_QUEUED, events.JOB_STARTED, events.JOB_SUCCEEDED, events.JOB_FAILED],
)
