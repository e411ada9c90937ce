"""Queries of builds."""

from datetime import datetime
from typing import Any

import msgspec

from stead.control.builds.rules import (
    INLINE,
    Build,
    BuildContext,
    BuildStatus,
    FunctionSource,
    ReusableBuild,
    VisibleBuild,
    previous_statuses,
)
from stead.control.builds.schema import BuildView
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.pagination import Page, PageRequest
from stead.shared.ids import BuildId, new_id

_COLUMNS = (
    "id, site_id, env_id, job_id, builder, status, source, ref, commit, auto_deploy, node_id, facts,"
    " manifest, config, envelope, key_id, started_at, pushed, inputs, reuses, function_id, inline"
)
_VIEW = (
    # The query of an archive's URL may be a credential, so it is not shown.
    "id, env_id, status, builder, split_part(split_part(source, '?', 1), '#', 1), ref, commit, author,"
    " message, artifact_id, job_id, auto_deploy,"
    " error, skipped, created_at, started_at, finished_at"
)
_CONTEXT = """
  select s.id, s.account_id, s.team_id, s.mode, s.profile, s.domain, s.region, s.git_repo, s.git_branch,
    e.branch, e.node_id, a.suspended_at is not null
  from environments e join sites s on s.id = e.site_id left join accounts a on a.id = s.account_id
  where s.id = $1 and e.id = $2
"""


async def find_context(tx: Tx, site: str, env: str) -> BuildContext | None:
    return await tx.one(BuildContext, _CONTEXT, site, env)


async def get(tx: Tx, build: str) -> Build | None:
    return await tx.one(Build, f"select {_COLUMNS} from builds where id = $1", build)  # noqa: S608


async def find(tx: Tx, env: VisibleEnvironment, build: str) -> VisibleBuild | None:
    return await tx.one(VisibleBuild, "select id from builds where env_id = $1 and id = $2", env.id, build)


async def view(tx: Tx, build: VisibleBuild) -> BuildView | None:
    return await tx.one(BuildView, f"select {_VIEW} from builds where id = $1", build.id)  # noqa: S608


async def page(tx: Tx, env: str, request: PageRequest) -> Page[BuildView]:
    return await request.fetch(
        tx,
        BuildView,
        f"select {_VIEW} from builds where env_id = $1 and id < $2 order by id desc limit $3",  # noqa: S608
        env,
    )


async def insert(
    tx: Tx,
    site: str,
    env: str,
    *,
    builder: str,
    source: str,
    ref: str | None,
    commit: str | None,
    auto_deploy: bool,
    pushed: bool,
) -> BuildId:
    id_ = BuildId(new_id("build"))
    await tx.run(
        "insert into builds (id, site_id, env_id, builder, source, ref, commit, auto_deploy, pushed,"
        " created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        *(id_, site, env, builder, source, ref, commit, auto_deploy, pushed, tx.now),
    )
    return id_


async def insert_function_build(
    tx: Tx,
    site: str,
    env: str,
    function: str,
    source: FunctionSource,
    *,
    upload: str | None,
    auto_deploy: bool,
) -> BuildId:
    id_ = BuildId(new_id("build"))
    await tx.run(
        "insert into builds (id, site_id, env_id, builder, source, auto_deploy, created_at, function_id,"
        " inline) values ($1, $2, $3, 'wasm', $4, $5, $6, $7, $8)",
        *(id_, site, env, upload or INLINE, auto_deploy, tx.now, function, msgspec.to_builtins(source)),
    )
    return id_


async def set_job(tx: Tx, build: str, job: str) -> None:
    await tx.run("update builds set job_id = $2 where id = $1", build, job)


async def replace_commit(tx: Tx, job: str, ref: str, commit: str | None) -> bool:
    replaced = await tx.run(
        "update builds set ref = $2, commit = $3 where job_id = $1 and status = 'queued'", job, ref, commit
    )
    return replaced == 1


async def set_node(tx: Tx, build: str, node: str) -> None:
    await tx.run("update builds set node_id = $2, staged = true where id = $1", build, node)


async def set_inputs(tx: Tx, build: str, inputs: str, reuses: str | None) -> None:
    await tx.run("update builds set inputs = $2, reuses = $3 where id = $1", build, inputs, reuses)


async def mark_skipped(tx: Tx, build: str) -> None:
    await tx.run("update builds set skipped = true where id = $1", build)


async def find_reusable(tx: Tx, env: str, inputs: str) -> ReusableBuild | None:
    """The build of the live release, if it was made with the same secrets and variables."""
    return await tx.one(
        ReusableBuild,
        "select a.id, a.digest, b.source_digest from deployments d"
        " join artifacts a on a.id = d.artifact_id join builds b on b.id = a.build_id"
        " where d.env_id = $1 and d.status = 'live' and b.env_id = $1 and b.inputs = $2"
        " and b.source_digest is not null",
        *(env, inputs),
    )


async def set_status(
    tx: Tx, build: str, status: BuildStatus, *, artifact: str | None = None, error: str | None = None
) -> bool:
    """Change the status if the current one allows it. Returns whether it did. Rows of builds are kept: what
    only a running build needs is not."""
    changed = await tx.run(
        "update builds set status = $2, error = $3, artifact_id = $4,"
        " started_at = case when $2 = 'running' then $5 else started_at end,"
        " finished_at = case when $2 in ('succeeded', 'failed') then $5 end,"
        " manifest = case when $2 = 'running' then manifest end,"
        " config = case when $2 = 'running' then config end,"
        " envelope = case when $2 = 'running' then envelope end,"
        " key_id = case when $2 = 'running' then key_id end,"
        " inline = case when $2 = 'running' then inline else jsonb_set(inline, '{content}', 'null') end"
        " where id = $1 and status = any($6)",
        *(build, status, error, artifact, tx.now, previous_statuses(status)),
    )
    return changed == 1


async def set_result(tx: Tx, build: str, result: dict[str, Any], *, shown: dict[str, str | None]) -> None:
    """A commit and a ref that the node reports replace the requested ones; without a report those stay."""
    await tx.run(
        "update builds set facts = $2, commit = coalesce($3, commit), ref = coalesce($4, ref),"
        " author = $5, message = $6, source_digest = $7 where id = $1",
        *(build, result, shown["commit"], shown["ref"], shown["author"], shown["message"]),
        shown["source_digest"],
    )


async def set_signed(
    tx: Tx, build: str, *, manifest: bytes, config: bytes, envelope: bytes, key_id: str
) -> None:
    await tx.run(
        "update builds set manifest = $2, config = $3, envelope = $4, key_id = $5"
        " where id = $1 and status = 'running'",
        *(build, manifest, config, envelope, key_id),
    )


async def list_staged(tx: Tx, *, before: datetime, limit: int) -> list[str]:
    """Builds that have finished and may still have a staged layer in the object store."""
    return await tx.all(
        str,
        "select id from builds where staged and finished_at <= $1 order by finished_at limit $2",
        *(before, limit),
    )


async def clear_staged(tx: Tx, builds: list[str]) -> None:
    await tx.run("update builds set staged = false where id = any($1)", builds)
