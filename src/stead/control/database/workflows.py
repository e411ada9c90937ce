"""The steps that export a database."""

from stead.control.database import jobs, store
from stead.control.database.jobs import ExportWork
from stead.control.database.rules import ExportFailed, object_name
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import (
    NodeCommand,
    Refused,
    Results,
    Workflow,
    control_step,
    node_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work import DatabaseExported, ExportDatabase

ExportJob = Job[ExportWork]


async def _export(tx: Tx, job: ExportJob) -> NodeCommand:
    wanted = job.params
    environment = await environments.get(tx, wanted.environment)
    work = ExportDatabase(
        *("cms", object_name(wanted.export), tuple(wanted.tables), wanted.compress),
        statement=wanted.statement.encode(),
    )
    return await node_commands.build_environment_command(tx, environment, work)


async def _record(tx: Tx, job: ExportJob, result: DatabaseExported | None) -> None:
    if result is None:
        raise Refused(ExportFailed.code, "The node has not said how large the export is.")
    await store.set_size(tx, job.params.export, result.size)


async def _finish(tx: Tx, job: ExportJob) -> Results:
    found = await store.get(tx, job.params.export)
    if found is None:
        raise Refused(ExportFailed.code, "The export is not there any more.")
    url, expires_at, size = found
    return {"download_url": url, "expires_at": expires_at.isoformat(), "size_bytes": size}


EXPORT = Workflow(
    jobs.EXPORT,
    # No undo: what was uploaded expires.
    steps=[node_step("export", _export, on_result=_record), control_step("done", _finish)],
    failed=record_nothing,
)
