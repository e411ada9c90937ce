"""The only Temporal workflow: runs the steps of a plan in order, and undoes them in reverse if the job fails.

What a step does is in the activities. This module contains only the state that must survive a crash of a
worker. The plan is an argument of the workflow, so a newer worker can finish a job that an older one started.
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
UNDO_TIMEOUT = timedelta(minutes=10)
_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=3),
    non_retryable_error_types=[REFUSED],
)


@dataclass
class PlannedStep:
    name: str
    waits: bool
    """Whether the step waits for a node, the edges or long work. Every other step is one transaction."""
    has_undo: bool


@dataclass
class Plan:
    job: str
    seconds: float
    steps: list[PlannedStep] = field(default_factory=list)
    lost: bool = False
    """An earlier workflow of this job was lost, and its progress is unknown. All steps are undone."""


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
            await _shielded(self._undo_steps(plan, begun))
        await _shielded(
            workflow.execute_local_activity(
                "finish",
                args=[plan.job, failure],
                start_to_close_timeout=timedelta(seconds=30),
                retry_policy=_RETRY,
            )
        )

    async def _forward(self, plan: Plan, begun: list[PlannedStep]) -> Failure | None:
        steps = asyncio.create_task(self._run_steps(plan, begun))
        stopped = await self._wait_for_steps(plan, steps)
        if stopped is not None:
            self._stopping = True
            steps.cancel()
            await _shielded(_wait_for(steps))
        if not steps.cancelled() and steps.exception() is None:
            # If the last step is a transaction, it has ended the job: nothing is left to stop.
            return stopped if plan.steps[-1].waits else None
        return stopped or _failure_of(steps.exception())

    async def _wait_for_steps(self, plan: Plan, steps: "asyncio.Task[None]") -> Failure | None:
        """The reason why the steps must stop: a cancellation or the time limit. None if they have ended."""
        try:
            done, _ = await asyncio.wait({steps}, timeout=plan.seconds)
        except asyncio.CancelledError:
            return Failure("job.cancelled", "")
        return None if done else Failure("job.timeout", f"{plan.seconds:g} seconds")

    async def _run_steps(self, plan: Plan, begun: list[PlannedStep]) -> None:
        for step in plan.steps:
            if self._stopping:
                # A step may complete although it was cancelled. The next step must not begin.
                raise asyncio.CancelledError
            begun.append(step)
            if step.waits:
                await workflow.execute_activity(
                    "perform",
                    args=[plan.job, step.name],
                    start_to_close_timeout=timedelta(seconds=plan.seconds),
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=_RETRY,
                    cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                )
            else:
                # A transaction is short, so wait for it even when the job is cancelled. Otherwise it would be
                # unknown whether it was committed.
                await _shielded(
                    workflow.execute_local_activity(
                        "perform",
                        args=[plan.job, step.name],
                        start_to_close_timeout=timedelta(seconds=30),
                        retry_policy=_RETRY,
                    )
                )

    async def _undo_steps(self, plan: Plan, begun: list[PlannedStep]) -> None:
        """Undo in reverse order. If a worker died, a step may still run on a node: stop it first."""
        for step in reversed(begun):
            if step.waits and (plan.lost or step is begun[-1]):
                await self._execute_or_give_up("stop", plan, step)
        for step in reversed(begun):
            if step.has_undo:
                await self._execute_or_give_up("undo", plan, step)

    async def _execute_or_give_up(self, activity: str, plan: Plan, step: PlannedStep) -> None:
        """Retry for `UNDO_TIMEOUT`, then give up: a node that is lost must not keep a job open forever."""
        try:
            await workflow.execute_activity(
                activity,
                args=[plan.job, step.name],
                schedule_to_close_timeout=UNDO_TIMEOUT,
                heartbeat_timeout=HEARTBEAT,
                retry_policy=_RETRY,
            )
        except ActivityError:
            workflow.logger.warning("%s of %s was given up", activity, step.name)


async def _shielded(work: Coroutine[Any, Any, T]) -> T:
    """Wait until the work ends, even if this task is cancelled meanwhile, any number of times."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return task.result()


async def _wait_for(task: "asyncio.Task[None]") -> None:
    await asyncio.wait({task})


def _failure_of(error: BaseException | None) -> Failure:
    # The error of an activity is wrapped; the error of a local activity is not.
    cause = error.cause if isinstance(error, ActivityError) else error
    if isinstance(cause, ApplicationError) and cause.type == REFUSED:
        code, reason = cause.details
        return Failure(str(code), str(reason))
    return Failure("internal", "")
