"""The tasks of a worker that maintain repositories."""

from collections.abc import Sequence

from stead.control.backups.maintenance import Maintainer
from stead.control.settings import second_store_of
from stead.control.tasks import PeriodicTask, Task, WorkerServices

MAINTAIN_SECONDS = 300.0
COPY_SECONDS = 60.0


def build_tasks(worker: WorkerServices) -> Sequence[Task]:
    second = second_store_of(worker.settings)
    maintainer = Maintainer(worker.database, worker.sealer, worker.objects, second)
    tasks = [PeriodicTask("backups.maintain", MAINTAIN_SECONDS, maintainer.maintain_due)]
    if second is not None:
        tasks.append(PeriodicTask("backups.copy", COPY_SECONDS, maintainer.copy_new))
    return tasks
