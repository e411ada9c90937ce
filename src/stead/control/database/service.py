"""Reads and changes the database of a site."""

import base64
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from stead.control.backups import service as backups
from stead.control.database import store
from stead.control.database.jobs import EXPORT, ExportWork
from stead.control.database.rules import (
    LATE,
    MAX_LIVE,
    PREFIX,
    SNAPSHOT_AGE,
    WAIT_FOR,
    ExportsExceeded,
    SnapshotNeeded,
    StatementRefused,
    object_name,
)
from stead.control.database.schema import (
    DatabaseView,
    NewExport,
    NewQuery,
    NewStatement,
    QueryResultView,
    StatementResultView,
)
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.jobs import service as jobs
from stead.control.jobs.presigning import statement_context
from stead.control.jobs.schema import JobView
from stead.control.sites import questions
from stead.control.sites.rules import require_changeable
from stead.shared.errors import FieldInvalid
from stead.shared.ids import new_id

T = TypeVar("T")
BATCH_SIZE = 100


async def describe(call: Call, env: VisibleEnvironment) -> Later[DatabaseView]:
    return await _ask(call, env, "database.get", DatabaseView)


async def query(call: Call, env: VisibleEnvironment, wanted: NewQuery) -> Later[QueryResultView]:
    return await _ask(call, env, "database.query", QueryResultView, wanted)


async def execute(call: Call, env: VisibleEnvironment, wanted: NewStatement) -> Later[StatementResultView]:
    require_changeable(env.site_status)
    if wanted.confirm and env.type == "production":
        # Other environments are copies, which can be refreshed.
        earliest = call.tx.now - SNAPSHOT_AGE
        if not await backups.has_snapshot_since(call.tx, env.id, earliest):
            raise SnapshotNeeded
    call.audit.note(confirm=wanted.confirm)
    return await _ask(call, env, "database.execute", StatementResultView, wanted)


async def export(call: Call, env: VisibleEnvironment, wanted: NewExport | None) -> JobView:
    require_changeable(env.site_status)
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)
    chosen, export_ = wanted or NewExport(), new_id("exp")
    statement = ""
    if chosen.query is not UNSET:
        if chosen.tables:
            raise FieldInvalid(param="tables", reason="Give either `tables` or `query`.")
        encoded = msgspec.json.encode({"query": chosen.query, "params": chosen.params})
        statement = base64.b64encode(
            call.sealer.seal(encoded, context=statement_context(env.site_id))
        ).decode()
    elif chosen.params:
        raise FieldInvalid(param="params", reason="`params` are the values of `query`.")
    work = ExportWork(env.id, export_, chosen.tables, chosen.compress, statement)
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    # From here on, other requests of this owner wait.
    queued = await jobs.enqueue(call.tx, EXPORT, work, subject, scope="db:read")
    live = await store.count_live(call.tx, env.site_id)
    if live >= MAX_LIVE:
        raise ExportsExceeded(live=live)
    # Before anything is stored, so that it is removed whatever happens.
    await store.insert(call.tx, export_, env.site_id, expires_at=call.tx.now + WAIT_FOR)
    return queued


async def remove_expired(database: Database, objects: ObjectStore) -> int:
    """The objects first, so that a run that was interrupted is continued by the next one. Nothing can be
    uploaded after that."""
    async with database.reading() as tx:
        expired = await store.list_expired(tx, tx.now - LATE, limit=BATCH_SIZE)
    if expired:
        await objects.delete([object_name(each) for each in expired])
        async with database.transaction() as tx:
            await store.delete(tx, expired)
    return len(expired)


async def remove_unknown(database: Database, objects: ObjectStore) -> int:
    """Remove objects without an export, which were uploaded after it had been removed. Returns how many."""
    removed = 0
    async for names in objects.list_names(PREFIX):
        async with database.reading() as tx:
            known = await store.list_known(tx, [name.removeprefix(PREFIX) for name in names])
        unknown = [name for name in names if name.removeprefix(PREFIX) not in known]
        await objects.delete(unknown)
        removed += len(unknown)
    return removed


async def _ask(
    call: Call, env: VisibleEnvironment, kind: str, answer: type[T], wanted: Any = None
) -> Later[T]:
    site = await questions.prepare(call.tx, call.context, env)
    body = {} if wanted is None else msgspec.to_builtins(wanted)
    return Later(site.asking(kind, answer, None, body, refused=StatementRefused))
