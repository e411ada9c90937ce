"""Functions: WebAssembly on the domain of a site."""

from stead.control.engines.nats_state import StateStream
from stead.control.feature import Feature
from stead.control.functions import events, operations, service, workflows
from stead.control.functions.state_removal import StateRemoval
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    async def retry_removals() -> None:
        await in_batches(worker.database, service.retry_removals)

    state = StateRemoval(worker.database, StateStream(worker.nats))
    return [
        PeriodicTask("functions.remove", 300, retry_removals),
        PeriodicTask("functions.remove_state", 60, state.run),
    ]


FEATURE = Feature(
    name="functions",
    operations=[operations.operation],
    resolvers=[service.visible_function],
    id_prefixes={"function_id": "fn"},
    tasks=_tasks,
    workflows=[workflows.DEPLOY, workflows.ROLLBACK, workflows.REMOVE],
    events=[
        events.FUNCTION_CREATED,
        events.FUNCTION_UPDATED,
        events.FUNCTION_DEPLOYED,
        events.FUNCTION_ROLLED_BACK,
        events.FUNCTION_FAILED,
        events.FUNCTION_LIMITED,
        events.FUNCTION_DELETED,
    ],
)
