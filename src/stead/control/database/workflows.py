"""The steps that export a database."""

from stead.control.database import jobs, store
from stead.control.database.jobs import ExportWork
from stead.control.database.rules import DOWNLOAD_FOR, ExportFailed, object_name
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import (
    NodeCommand,
    Refused,
    Results,
    Workflow,
    control_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work.cms import DatabaseExported, ExportDatabase

ExportJob = Job[ExportWork]


async def _begin(tx: Tx, job: ExportJob) -> None:
    if not await store.set_expiry(tx, job.params.export, tx.now + DOWNLOAD_FOR):
        raise Refused(ExportFailed.code, "It has waited for too long. Export the database again.")


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
    expires_at, size = found
    return {
        "download_url": object_name(job.params.export),
        "expires_at": expires_at.isoformat(),
        "size_bytes": size,
    }


async def _give_up(tx: Tx, job: ExportJob, _: str) -> None:
    """What was uploaded, or still is, is removed soon."""
    await store.set_expiry(tx, job.params.export, tx.now)


EXPORT = Workflow(
    jobs.EXPORT,
    # No undo: what was uploaded expires.
    steps=[
        control_step("begin", _begin),
        node_step("export", _export, on_result=_record),
        control_step("done", _finish),
    ],
    failed=_give_up,
)
