"""Temporal: starts and cancels the workflows of jobs, and runs their activities in this worker."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Literal

import structlog
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from stead.control.engines.temporal_workflow import QUEUE, JobWorkflow, Plan
from stead.control.engines.transaction_guard import require_no_transaction

log = structlog.get_logger()

TASK_SECONDS = 5
RETRY_SECONDS = 0.5
RPC = timedelta(seconds=5)
CONNECT_SECONDS = 10.0
"""A server that hangs accepts connections, and answers nothing."""

TemporalUnreachable = RPCError


WorkflowState = Literal["open", "closed", "missing"]


class Orchestrator:
    def __init__(self, client: Client) -> None:
        self._client = client

    @classmethod
    async def connect(
        cls, address: str, end: asyncio.Event, *, namespace: str = "default", tls: bool = False
    ) -> "Orchestrator | None":
        """Try until the server is reachable. None if `end` is set before. With `tls`, never in plain text."""
        while not end.is_set():
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return cls(await Client.connect(address, namespace=namespace, tls=tls))
            except (RuntimeError, TimeoutError):
                log.warning("temporal.unreachable")
                await asyncio.sleep(RETRY_SECONDS)
        return None

    async def responds(self) -> bool:
        try:
            return await self._client.service_client.check_health(timeout=RPC)
        except RPCError:
            return False

    async def start(self, plan: Plan) -> None:
        """Start the workflow of a job, at most once. A lost workflow is started again to undo the job."""
        require_no_transaction("Temporal")
        reuse = WorkflowIDReusePolicy.ALLOW_DUPLICATE if plan.lost else WorkflowIDReusePolicy.REJECT_DUPLICATE
        try:
            await self._client.start_workflow(
                JobWorkflow.run,
                plan,
                id=plan.job,
                task_queue=QUEUE,
                id_reuse_policy=reuse,
                task_timeout=timedelta(seconds=TASK_SECONDS),
                rpc_timeout=RPC,
            )
        except WorkflowAlreadyStartedError:
            return

    async def cancel(self, job: str) -> bool:
        """Cancel a workflow; cancelling it again is harmless. False when no such workflow was started."""
        require_no_transaction("Temporal")
        try:
            await self._client.get_workflow_handle(job).cancel(rpc_timeout=RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    async def find_state(self, job: str) -> WorkflowState:
        require_no_transaction("Temporal")
        try:
            found = await self._client.get_workflow_handle(job).describe(rpc_timeout=RPC)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return "missing"
            raise
        return "open" if found.status is WorkflowExecutionStatus.RUNNING else "closed"

    def worker(self, activities: Sequence[Callable[..., Any]]) -> Worker:
        return Worker(
            self._client,
            task_queue=QUEUE,
            workflows=[JobWorkflow],
            activities=activities,
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_cached_workflows=500,
            max_concurrent_activities=100,
            graceful_shutdown_timeout=timedelta(seconds=5),
            default_heartbeat_throttle_interval=timedelta(milliseconds=500),
            max_heartbeat_throttle_interval=timedelta(milliseconds=500),
        )


async def run_until(worker: Worker, end: asyncio.Event) -> None:
    async with worker:
        await end.wait()
