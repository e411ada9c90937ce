"""Access to sites."""

from functools import partial

from stead.control.access import events, magic_links, operations, workflows
from stead.control.access.publisher import AccessPublisher
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    remove = partial(in_batches, worker.database, magic_links.remove_expired)
    publisher = AccessPublisher(worker.database, worker.listener, worker.gateway)
    return [PeriodicTask("magic_links.remove_expired", 60, remove), *publisher.tasks()]


FEATURE = Feature(
    name="access",
    operations=[operations.operation],
    workflows=[workflows.RESET_ADMIN_PASSWORD, workflows.APPLY_KEYS],
    events=[events.SITE_SSH_KEYS_CHANGED, events.SITE_PASSWORD_RESET],
    tasks=_tasks,
)
