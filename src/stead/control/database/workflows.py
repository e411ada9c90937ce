"""The steps that export a database."""

from stead.control.database import jobs, store
from stead.control.database.jobs import ExportWork
from stead.control.database.rules import DOWNLOAD_FOR, KEPT_FOR, ExportFailed, object_name
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import (
    NodeCommand,
    Refused,
    Results,
    WorkerContext,
    Workflow,
    control_step,
    long_step,
    node_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work import DatabaseExported, ExportDatabase

ExportJob = Job[ExportWork]


async def _begin(tx: Tx, job: ExportJob) -> None:
    """Before anything is stored, so that it is removed whatever happens."""
    await store.insert(tx, job.id, job.site_id, expires_at=tx.now + KEPT_FOR)


async def _export(tx: Tx, job: ExportJob) -> NodeCommand:
    wanted = job.params
    environment = await environments.get(tx, wanted.environment)
    work = ExportDatabase("cms", object_name(job.id), tuple(wanted.tables), wanted.compress)
    return await node_commands.build_environment_command(tx, environment, work)


async def _record(tx: Tx, job: ExportJob, result: DatabaseExported | None) -> None:
    if result is None:
        raise Refused(ExportFailed.code, "The node has not said how large the export is.")
    await store.set_size(tx, job.id, result.size)


async def _sign(context: WorkerContext, job: ExportJob) -> None:
    url = context.objects.presigned_get_url(object_name(job.id), seconds=int(DOWNLOAD_FOR.total_seconds()))
    async with context.database.transaction() as tx:
        await store.set_url(tx, job.id, url, expires_at=tx.now + DOWNLOAD_FOR)


async def _finish(tx: Tx, job: ExportJob) -> Results:
    found = await store.get(tx, job.id)
    if found is None:
        raise Refused(ExportFailed.code, "The export is not there any more.")
    url, expires_at, size = found
    return {"download_url": url, "expires_at": expires_at.isoformat(), "size_bytes": size}


EXPORT = Workflow(
    jobs.EXPORT,
    steps=[
        control_step("begin", _begin),
        node_step("export", _export, on_result=_record),
        long_step("sign", _sign),
        control_step("done", _finish),
    ],
    failed=record_nothing,
)
