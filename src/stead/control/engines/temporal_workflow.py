"""The one Temporal workflow: a plan's steps in order, and their undoing in reverse when it does not work out.

What a step does is the activities' business; here is only what must survive everything. The plan comes with
the start, so a worker of another version finishes what an older one began.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

T = TypeVar("T")

QUEUE = "jobs"
REFUSED = "Refused"
HEARTBEAT = timedelta(seconds=5)
UNDO_PATIENCE = timedelta(minutes=10)
_PATIENT = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=3),
    non_retryable_error_types=[REFUSED],
)


@dataclass
class PlannedStep:
    name: str
    waits: bool
    """For a node or for the edges; the others are a transaction each."""
    has_undo: bool


@dataclass
class Plan:
    job: str
    seconds: float
    steps: list[PlannedStep] = field(default_factory=list)
    lost: bool = False
    """An earlier execution is gone, nobody knows how far it came: all there is to do is to undo."""


@dataclass
class Failure:
    code: str
    reason: str


@workflow.defn(name="job")
class JobWorkflow:
    def __init__(self) -> None:
        self._stopping = False

    @workflow.run
    async def run(self, plan: Plan) -> None:
        begun = list(plan.steps) if plan.lost else []
        failure = Failure("job.lost", "") if plan.lost else await self._forward(plan, begun)
        if failure is not None:
            await _regardless(self._unwind(plan, begun))
        await _regardless(
            workflow.execute_local_activity(
                "finish",
                args=[plan.job, failure],
                start_to_close_timeout=timedelta(seconds=30),
                retry_policy=_PATIENT,
            )
        )

    async def _forward(self, plan: Plan, begun: list[PlannedStep]) -> Failure | None:
        steps = asyncio.create_task(self._steps(plan, begun))
        stopped = await self._until_stopped(plan, steps)
        if stopped is not None:
            self._stopping = True
            steps.cancel()
            await _regardless(_settled(steps))
        if not steps.cancelled() and steps.exception() is None:
            # A last step that is a transaction has ended the job in it: nothing is left to be stopped.
            return stopped if plan.steps[-1].waits else None
        return stopped or _explained(steps.exception())

    async def _until_stopped(self, plan: Plan, steps: "asyncio.Task[None]") -> Failure | None:
        """Why they have to stop; None when they have come to an end."""
        try:
            done, _ = await asyncio.wait({steps}, timeout=plan.seconds)
        except asyncio.CancelledError:
            return Failure("job.cancelled", "")
        return None if done else Failure("job.timeout", f"{plan.seconds:g} seconds")

    async def _steps(self, plan: Plan, begun: list[PlannedStep]) -> None:
        for step in plan.steps:
            if self._stopping:
                # A step may be done before it hears that it should not be; the next must not begin.
                raise asyncio.CancelledError
            begun.append(step)
            if step.waits:
                await workflow.execute_activity(
                    "perform",
                    args=[plan.job, step.name],
                    start_to_close_timeout=timedelta(seconds=plan.seconds),
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=_PATIENT,
                    cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                )
            else:
                # A transaction is short and either is or is not: whoever walked away would not know which.
                await _regardless(
                    workflow.execute_local_activity(
                        "perform",
                        args=[plan.job, step.name],
                        start_to_close_timeout=timedelta(seconds=30),
                        retry_policy=_PATIENT,
                    )
                )

    async def _unwind(self, plan: Plan, begun: list[PlannedStep]) -> None:
        """In reverse. Its worker may have died with a step still at work on the node: that ends first."""
        for step in reversed(begun):
            if step.waits and (plan.lost or step is begun[-1]):
                await self._patiently("stop", plan, step)
        for step in reversed(begun):
            if step.has_undo:
                await self._patiently("undo", plan, step)

    async def _patiently(self, what: str, plan: Plan, step: PlannedStep) -> None:
        """Tried for long, then given up: a node that never comes back must not keep a job open for ever."""
        try:
            await workflow.execute_activity(
                what,
                args=[plan.job, step.name],
                schedule_to_close_timeout=UNDO_PATIENCE,
                heartbeat_timeout=HEARTBEAT,
                retry_policy=_PATIENT,
            )
        except ActivityError:
            workflow.logger.warning("%s of %s was given up", what, step.name)


async def _regardless(work: Coroutine[Any, Any, T]) -> T:
    """Waits for its end, however often we are cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return task.result()


async def _settled(task: "asyncio.Task[None]") -> None:
    await asyncio.wait({task})


def _explained(error: BaseException | None) -> Failure:
    # An activity's failure comes wrapped; a local activity's as it was raised.
    cause = error.cause if isinstance(error, ActivityError) else error
    if isinstance(cause, ApplicationError) and cause.type == REFUSED:
        code, reason = cause.details
        return Failure(str(code), str(reason))
    return Failure("internal", "")
