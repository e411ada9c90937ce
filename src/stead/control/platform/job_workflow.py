"""The one Temporal workflow: a plan's steps in order, and their undoing in reverse when it does not work out.

What a step does is the activities' business; here is only what must survive everything. The plan comes with
the start, so a worker of another version finishes what an older one began.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

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
    on_node: bool
    has_undo: bool


@dataclass
class Plan:
    job: str
    seconds: float
    steps: list[PlannedStep] = field(default_factory=list)


@dataclass
class Failure:
    code: str
    reason: str


@workflow.defn(name="job")
class JobWorkflow:
    @workflow.run
    async def run(self, plan: Plan) -> None:
        begun: list[PlannedStep] = []
        failure = await self._forward(plan, begun)
        if failure is not None:
            for step in reversed(begun):
                if step.has_undo:
                    await self._undo(plan, step)
        await workflow.execute_local_activity(
            "finish",
            args=[plan.job, failure],
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=_PATIENT,
        )

    async def _forward(self, plan: Plan, begun: list[PlannedStep]) -> Failure | None:
        try:
            await asyncio.wait_for(self._steps(plan, begun), plan.seconds)
        except TimeoutError:
            return Failure("job.timeout", f"{plan.seconds:g} seconds")
        except (asyncio.CancelledError, ActivityError) as error:
            return _explained(error)
        return None

    async def _steps(self, plan: Plan, begun: list[PlannedStep]) -> None:
        for step in plan.steps:
            begun.append(step)
            if step.on_node:
                await workflow.execute_activity(
                    "perform",
                    args=[plan.job, step.name],
                    start_to_close_timeout=timedelta(seconds=plan.seconds),
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=_PATIENT,
                    cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                )
            else:
                await workflow.execute_local_activity(
                    "perform",
                    args=[plan.job, step.name],
                    start_to_close_timeout=timedelta(seconds=30),
                    retry_policy=_PATIENT,
                )

    async def _undo(self, plan: Plan, step: PlannedStep) -> None:
        """Tried for long, then given up: a node that never comes back must not keep a job open for ever."""
        try:
            await asyncio.shield(
                workflow.execute_activity(
                    "undo",
                    args=[plan.job, step.name],
                    schedule_to_close_timeout=UNDO_PATIENCE,
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=_PATIENT,
                )
            )
        except ActivityError:
            workflow.logger.warning("undo of %s was given up", step.name)


def _explained(error: BaseException) -> Failure:
    if is_cancelled_exception(error):
        return Failure("job.cancelled", "")
    cause = error.cause if isinstance(error, ActivityError) else None
    if isinstance(cause, ApplicationError) and cause.type == REFUSED:
        code, reason = cause.details
        return Failure(str(code), str(reason))
    return Failure("internal", "")
