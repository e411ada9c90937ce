"""Reads and changes the database of a site."""

from typing import Any, TypeVar

import msgspec

from stead.control.backups import service as backups
from stead.control.database.rules import SNAPSHOT_AGE, SnapshotNeeded, StatementRefused
from stead.control.database.schema import (
    DatabaseView,
    NewQuery,
    NewStatement,
    QueryResultView,
    StatementResultView,
)
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Later
from stead.control.sites import questions
from stead.control.sites.rules import require_changeable

T = TypeVar("T")


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


async def _ask(
    call: Call, env: VisibleEnvironment, kind: str, answer: type[T], wanted: Any = None
) -> Later[T]:
    site = await questions.prepare(call.tx, call.context, env)
    body = {} if wanted is None else msgspec.to_builtins(wanted)
    return Later(site.asking(kind, answer, EnvironmentNotFound, body, refused=StatementRefused))
