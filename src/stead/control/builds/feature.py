"""Builds: a source becomes a signed artifact."""

from functools import partial

from stead.control.builds import events, operations, service, workflows
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices


def _tasks(worker: WorkerServices) -> list[Task]:
    remove = partial(service.remove_staged, worker.database, worker.objects)
    return [PeriodicTask("builds.remove_staged", 300, remove)]


FEATURE = Feature(
    name="builds",
    operations=[operations.operation],
    resolvers=[service.visible_build],
    id_prefixes={"build_id": "build"},
    workflows=[workflows.RUN],
    tasks=_tasks,
    events=[events.BUILD_STARTED, events.BUILD_SUCCEEDED, events.BUILD_FAILED],
)
