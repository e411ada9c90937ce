"""The activities of the job workflow: run, undo and stop a step, and finish a job. All are safe to repeat."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import NotApplied
from stead.control.engines.postgres import Tx
from stead.control.engines.temporal_activities import (
    attempt_number,
    declare_activity,
    final_error,
    heartbeating,
    is_stopping,
    retryable_error,
)
from stead.control.engines.temporal_workflow import Failure
from stead.control.http.responses import ErrorBody, doc_url
from stead.control.jobs import queue, service
from stead.control.jobs.definition import (
    AnnouncementBuilder,
    CommandBuilder,
    ControlAction,
    LongAction,
    NodeCommand,
    RefusalHandler,
    Refused,
    ResultHandler,
    WorkerContext,
    Workflow,
    WorkflowCatalog,
)
from stead.control.jobs.kinds import Job, JobRow
from stead.control.jobs.measurements import DONE, count_end, measure_step
from stead.control.jobs.presigning import presign_urls, unseal_secrets
from stead.control.jobs.repository_access import CommandAddress, grant_access
from stead.control.jobs.rules import EdgeUnreachable, JobCancelled, JobNotFound, JobTimeout, NodeKeyUnknown
from stead.control.nodes import service as nodes
from stead.control.nodes.gateway import Gateway
from stead.control.nodes.rules import LOST_AFTER
from stead.protocol.commands import Cancel, Command, result_of
from stead.protocol.sealed_work import NodeKeyMissing, seal_work
from stead.shared.errors import ApiError, Internal, catalog
from stead.shared.wording import clean_reason

log = structlog.get_logger()

STOP_EPOCH = 1_000_000
"""Higher than any epoch of the step itself, so a stop command is never stale."""


class Activities:
    """The activities that the job workflow calls."""

    def __init__(
        self,
        context: WorkerContext,
        workflows: WorkflowCatalog,
        gateway: Gateway,
        announcer: Announcer,
        docs_url: str,
        could_hear_nodes_for: Callable[[float], bool] = lambda _: True,
    ) -> None:
        """`could_hear_nodes_for` is that of the worker's services."""
        self._context, self._database, self._gateway = context, context.database, gateway
        self._workflows, self._announcer, self._docs_url = workflows, announcer, docs_url
        self._could_hear_nodes_for = could_hear_nodes_for

    @property
    def all(self) -> list[Any]:
        return [self.perform, self.undo, self.stop, self.finish]

    @declare_activity(name="perform")
    async def perform(self, job: str, name: str) -> None:
        row, workflow = await self._load(job)
        step = workflow.steps[name]
        run = _Run(row, workflow, name)
        with measure_step(workflow.name, run.position):
            await self._do(run, step.control, step.command, step.announce, step.on_result, step.on_refusal)
            if step.long_action is not None:
                await self._run_long_action(run, step.long_action)

    @declare_activity(name="undo")
    async def undo(self, job: str, name: str) -> None:
        row, workflow = await self._load(job)
        step = workflow.steps[name]
        run = _Run(row, workflow, f"undo-{name}")
        with measure_step(workflow.name, run.position):
            await self._do(run, step.undo_control, step.undo_command, step.undo_announce)

    @declare_activity(name="stop")
    async def stop(self, job: str, name: str) -> None:
        """Return when no part of the step runs on the node any more."""
        row, workflow = await self._load(job)
        build = workflow.steps[name].command
        commands = {} if build is None else await self._build_commands(row, workflow, build, name)
        async with heartbeating():
            for position, command in commands.items():
                epoch = STOP_EPOCH + attempt_number()
                await self._gateway.stop_step(Cancel(command.node, job, position, epoch))

    async def _build_commands(
        self, row: JobRow, workflow: Workflow[Any], build: CommandBuilder, step: str
    ) -> dict[str, NodeCommand]:
        """Empty if no command was sent: then nothing can be running."""
        async with self._database.reading() as tx:
            try:
                return _name_commands(await build(tx, workflow.read(row)), step)
            except Refused:
                return {}

    @declare_activity(name="finish")
    async def finish(self, job: str, failure: Failure | None) -> None:
        row, workflow = await self._load(job)
        error = self._error(failure) if failure else None
        async with self._database.transaction() as tx:
            ended = await service.end(tx, workflow, row, error)
        if ended:
            count_end(workflow.name, error.code if error else DONE)

    async def _do(
        self,
        run: "_Run",
        control: ControlAction | None,
        command: CommandBuilder | None,
        announce: AnnouncementBuilder | None,
        on_result: ResultHandler | None = None,
        on_refusal: RefusalHandler | None = None,
    ) -> None:
        try:
            if control is not None:
                await self._run_control(run, control)
            if command is not None:
                await self._run_command(run, command, on_result, on_refusal)
            if announce is not None:
                await self._announce(run, announce)
        except Refused as refusal:
            raise final_error(refusal.code, refusal.reason) from None

    async def _run_control(self, run: "_Run", control: ControlAction) -> None:
        ended = False
        async with self._database.transaction() as tx:
            # The order matters: a duplicate of this step waits on the step's row, not on the job's row.
            if not await queue.mark_step_done(tx, run.job, run.position):
                return
            await queue.mark_running(tx, run.job)
            results = await control(tx, run.read())
            await self._require_not_cancelled(tx, run)
            if results:
                kept = {key: value for key, value in results.items() if key in run.workflow.kind.results}
                await queue.add_results(tx, run.job, kept)
            if run.is_last:
                # In the same transaction: after its last step a job can no longer be cancelled.
                ended = await queue.finish(tx, run.row, None)
        if ended:
            count_end(run.workflow.name)

    async def _require_not_cancelled(self, tx: Tx, run: "_Run") -> None:
        """No step begins and no transaction commits after a cancellation was accepted."""
        if not await queue.may_continue(tx, run.job, undoing=run.is_undo):
            raise Refused(JobCancelled.code, "")

    async def _run_command(
        self,
        run: "_Run",
        build: CommandBuilder,
        on_result: ResultHandler | None,
        on_refusal: RefusalHandler | None,
    ) -> None:
        async with self._database.transaction() as tx:
            await self._require_not_cancelled(tx, run)
            await queue.mark_running(tx, run.job)
            could_hear = self._could_hear_nodes_for(LOST_AFTER.total_seconds())
            built = await build(tx, replace(run.read(), could_hear_nodes=could_hear))
            commands = _name_commands(built, run.position)
            for command in commands.values():
                await queue.record_asked_node(tx, run.job, command.node)
            public_keys = {
                each.node: await nodes.find_public_key(tx, each.node) for each in commands.values()
            }
        for position, command in commands.items():
            await self._send_command(
                replace(run, position=position), command, public_keys[command.node], on_result, on_refusal
            )

    async def _send_command(
        self,
        run: "_Run",
        command: NodeCommand,
        public_key: bytes | None,
        on_result: ResultHandler | None,
        on_refusal: RefusalHandler | None,
    ) -> None:
        async with heartbeating():
            result = await self._gateway.run_command(self._address(run, command, public_key), is_stopping)
        if result.outcome == "refused":
            reason = clean_reason(result.reason or "The node refused.")
            refusal = Refused(clean_reason(result.code or Internal.code), reason)
            if on_refusal is None or not await self._goes_on(run, refusal, on_refusal):
                raise refusal
            return
        if result.outcome != "done":
            raise retryable_error(f"the node answered {result.outcome}")
        if on_result is not None:
            async with self._database.transaction() as tx:
                await on_result(tx, run.read(), result_of(command.work, result))

    async def _goes_on(self, run: "_Run", refusal: Refused, on_refusal: RefusalHandler) -> bool:
        async with self._database.transaction() as tx:
            return await on_refusal(tx, run.read(), refusal)

    def _address(self, run: "_Run", command: NodeCommand, public_key: bytes | None) -> Command:
        """The message to the node. Its secrets are opened here and sealed to the node, so they are never
        stored."""
        work = presign_urls(command.work, self._context.objects)
        work = unseal_secrets(work, self._context.sealer, run.row.site_id)
        if self._context.repositories is not None:
            limit = run.workflow.kind.limit.total_seconds()
            to = CommandAddress(run.row.site_id, run.job, command.node, limit, self._database.now())
            work = grant_access(work, self._context.repositories, self._context.sealer, to)
        try:
            work, sealed = seal_work(work, public_key, node=command.node, job=run.job, step=run.position)
        except NodeKeyMissing:
            raise Refused(NodeKeyUnknown.code, str(NodeKeyUnknown(node=command.node))) from None
        return Command(
            node=command.node,
            job=run.job,
            step=run.position,
            epoch=attempt_number(),
            site=run.row.site_id,
            environment=command.environment,
            driver=command.driver,
            work=work,
            seconds=run.workflow.kind.limit.total_seconds(),
            sealed=sealed,
        )

    async def _run_long_action(self, run: "_Run", action: LongAction) -> None:
        async with self._database.transaction() as tx:
            await self._require_not_cancelled(tx, run)
            await queue.mark_running(tx, run.job)
        try:
            async with heartbeating():
                await action(self._context, run.read())
        except Refused as refusal:
            raise final_error(refusal.code, refusal.reason) from None

    async def _announce(self, run: "_Run", build: AnnouncementBuilder) -> None:
        async with self._database.transaction() as tx:
            await self._require_not_cancelled(tx, run)
            await queue.mark_running(tx, run.job)
            announcement = await build(tx, run.read())
        if announcement is None:
            return
        try:
            async with heartbeating():
                await self._announcer.announce(
                    announcement.region, announcement.records, announcement.version
                )
        except NotApplied as error:
            unreachable = EdgeUnreachable(nodes=", ".join(error.nodes))
            raise Refused(unreachable.code, str(unreachable)) from None

    async def _load(self, job: str) -> tuple[JobRow, Workflow[Any]]:
        async with self._database.reading() as tx:
            row = await queue.get(tx, job)
        if row is None:
            raise final_error(JobNotFound.code, JobNotFound.message)
        return row, self._workflows.of(row)

    def _error(self, failure: Failure) -> ErrorBody:
        known = {error.code: error for error in catalog()}.get(failure.code)
        if known is None:  # of a newer node: clients can look up only what this version documents
            log.warning("job.unknown_code", code=failure.code)
            known = Internal
        return ErrorBody(
            type=known.type,
            # PostgreSQL must accept it: a job that cannot end blocks all later jobs of its environment.
            message=clean_reason(_message(known, failure)),
            code=known.code,
            doc_url=doc_url(known, self._docs_url),
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """A step of a job, or the undo of one."""

    row: JobRow
    workflow: Workflow[Any]
    position: str
    """The name of the step; `undo-` and the name for its undo."""

    @property
    def job(self) -> str:
        return self.row.id

    @property
    def is_undo(self) -> bool:
        return self.position not in self.workflow.steps

    @property
    def is_last(self) -> bool:
        return self.position == list(self.workflow.steps)[-1]

    def read(self) -> Job[Any]:
        return self.workflow.read(self.row)


def _name_commands(
    built: NodeCommand | Sequence[NodeCommand] | None, position: str
) -> dict[str, NodeCommand]:
    """By their name for the node, in order. The first has the name of the step; further ones also that of
    their environment."""
    if built is None:
        return {}
    commands = [built] if isinstance(built, NodeCommand) else built
    return {
        f"{position}-{command.environment}" if number else position: command
        for number, command in enumerate(commands)
    }


def _message(known: type[ApiError], failure: Failure) -> str:
    if known is JobTimeout:
        return str(JobTimeout(limit=failure.reason))
    return failure.reason or known.message
