"""Queries of functions and their versions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.functions.rules import (
    MOST_VERSIONS,
    BuildState,
    Function,
    Route,
    Version,
    VisibleFunction,
    route_of,
)
from stead.control.functions.schema import FunctionVersionView, FunctionView, NewFunction
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.sites.rules import VisibleSite
from stead.control.sites.visibility import OWNERS, sites_of_owner, viewer, visible_rows, with_role
from stead.shared.ids import FunctionId, FunctionVersionId, new_id

_VIEW = (
    "f.id, f.site_id, f.slug, f.display_name, f.language, f.bindings, f.env, f.secret_refs, f.limits,"
    " f.route_path, f.fresh_instances, f.compatibility_date, s.domain, f.build_status, f.status_reason,"
    " f.active_version_id, f.last_build_job_id, f.last_artifact_id, f.created_at, f.updated_at"
)
_COLUMNS = (
    "f.id, f.site_id, s.account_id, s.team_id, s.mode, s.domain, f.slug, f.language, f.bindings, f.env,"
    " f.secret_refs, f.limits, f.route_path, f.fresh_instances, f.compatibility_date, f.source, f.filename,"
    " f.active_version_id, f.served_version_id, f.deleted_at is not null"
)
_VISIBLE = f"""
  select f.id, f.site_id, s.account_id, s.team_id, s.domain, s.status, s.runtime, f.slug, m.role
  {visible_rows("functions f join sites s on s.id = f.site_id")} and f.deleted_at is null
"""
_DOMAIN = FunctionView.__struct_fields__.index("url")


def _read_view(*row: Any) -> FunctionView:
    columns = list(row)
    slug, route = columns[2], columns[9]
    columns[_DOMAIN] = f"https://{columns[_DOMAIN]}{route_of(slug, route) or '/'}"
    return msgspec.convert(dict(zip(FunctionView.__struct_fields__, columns, strict=True)), FunctionView)


async def find(tx: Tx, caller: Principal, function: str) -> VisibleFunction | None:
    return await tx.one(
        with_role(VisibleFunction), f"{_VISIBLE} and f.id = $7", *viewer(tx, caller), function
    )


async def view(tx: Tx, function: str) -> FunctionView | None:
    return await tx.one(
        _read_view,
        f"select {_VIEW} from functions f join sites s on s.id = f.site_id where f.id = $1",  # noqa: S608
        function,
    )


async def page(tx: Tx, caller: Principal, request: PageRequest) -> Page[FunctionView]:
    """The functions of all sites of the caller's owners, newest first."""
    sql = f"""
      with {OWNERS}
      select {_VIEW} from owners o
      join sites s on {sites_of_owner()} and s.runtime = 'wasm' and s.status <> 'deleted'
      join functions f on f.site_id = s.id and f.deleted_at is null
      where f.id < $7 order by f.id desc limit $8
    """  # noqa: S608
    return await request.fetch(tx, _read_view, sql, *viewer(tx, caller))


async def page_of_site(tx: Tx, site: VisibleSite, request: PageRequest) -> Page[FunctionView]:
    return await request.fetch(
        tx,
        _read_view,
        f"select {_VIEW} from functions f join sites s on s.id = f.site_id where f.site_id = $1"  # noqa: S608
        " and f.deleted_at is null and f.id < $2 order by f.id desc limit $3",
        site.id,
    )


async def get(tx: Tx, function: str) -> Function | None:
    return await tx.one(
        Function,
        f"select {_COLUMNS} from functions f join sites s on s.id = f.site_id where f.id = $1",  # noqa: S608
        function,
    )


async def lock_site(tx: Tx, site: str) -> None:
    """Two requests for a site cannot both take the same slug or route."""
    await tx.value("select id from sites where id = $1 for no key update", site)


async def list_routes_of_others(tx: Tx, site: str, function: str) -> list[tuple[str, str]]:
    """The slugs and routes of the other functions of a site."""
    return await tx.all(
        lambda slug, route: (str(slug), str(route)),
        "select slug, route_path from functions where site_id = $1 and id <> $2 and deleted_at is null",
        *(site, function),
    )


async def count_with_deleted(tx: Tx, site: str) -> int:
    """Also those that were deleted, until they are removed from their node."""
    return int(await tx.value("select count(*) from functions where site_id = $1", site))


async def measure_settings_of_others(tx: Tx, site: str, function: str) -> int:
    """How many bytes the variables and bindings of the other functions of a site have."""
    return int(
        await tx.value(
            "select coalesce(sum(octet_length(env::text) + octet_length(bindings::text)), 0) from functions"
            " where site_id = $1 and id <> $2 and deleted_at is null",
            *(site, function),
        )
    )


async def count(tx: Tx, site: str) -> int:
    return int(
        await tx.value("select count(*) from functions where site_id = $1 and deleted_at is null", site)
    )


async def find_by_slugs(tx: Tx, site: str, slugs: Sequence[str]) -> dict[str, str]:
    found = await tx.all(
        lambda slug, id_: (str(slug), str(id_)),
        "select slug, id from functions where site_id = $1 and slug = any($2) and deleted_at is null",
        *(site, list(slugs)),
    )
    return dict(found)


async def insert(tx: Tx, new: NewFunction, *, filename: str | None, compatibility_date: str) -> FunctionId:
    id_ = FunctionId(new_id("fn"))
    await tx.run(
        "insert into functions (id, site_id, slug, display_name, language, bindings, env, secret_refs,"
        " limits, route_path, fresh_instances, compatibility_date, source, filename, created_at, updated_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)",
        *(id_, new.site_id, new.slug, new.display_name, new.language, msgspec.to_builtins(new.bindings)),
        *(new.env, new.secret_refs, msgspec.to_builtins(new.limits), new.route_path, new.fresh_instances),
        *(compatibility_date, new.source, filename, tx.now),
    )
    return id_


async def update(tx: Tx, function: str, values: dict[str, Any]) -> None:
    """The names of the columns are those of a shape, never of a request."""
    columns = ", ".join(f"{name} = ${number}" for number, name in enumerate(values, 3))
    await tx.run(
        f"update functions set updated_at = $2{', ' if columns else ''}{columns} where id = $1",  # noqa: S608
        *(function, tx.now, *values.values()),
    )


async def set_source(tx: Tx, function: str, source: str | None, filename: str | None) -> None:
    """An upload is not stored: then there is no source to build again."""
    await tx.run(
        "update functions set source = $2, filename = $3, updated_at = $4 where id = $1",
        *(function, source, filename, tx.now),
    )


async def set_state(tx: Tx, function: str, state: BuildState, reason: str | None = None) -> None:
    await tx.run(
        "update functions set build_status = $2, status_reason = $3 where id = $1", function, state, reason
    )


async def set_build_job(tx: Tx, function: str, job: str) -> None:
    await tx.run("update functions set last_build_job_id = $2 where id = $1", function, job)


async def set_artifact(tx: Tx, function: str, artifact: str) -> None:
    await tx.run("update functions set last_artifact_id = $2 where id = $1", function, artifact)


async def set_served(tx: Tx, function: str, version: str | None) -> None:
    await tx.run("update functions set served_version_id = $2 where id = $1", function, version)


async def set_active(tx: Tx, function: str, version: str) -> None:
    await tx.run(
        "update functions set active_version_id = $2, served_version_id = $2, build_status = 'live',"
        " status_reason = null, updated_at = $3 where id = $1",
        *(function, version, tx.now),
    )
    await tx.run("update function_versions set deployed_at = $2 where id = $1", version, tx.now)


async def mark_deleted(tx: Tx, function: str) -> None:
    await tx.run(
        "update functions set deleted_at = $2, served_version_id = null where id = $1", function, tx.now
    )


async def delete(tx: Tx, function: str) -> None:
    await tx.run("delete from functions where id = $1 and deleted_at is not null", function)


async def list_served(tx: Tx, site: str) -> list[Route]:
    return await tx.all(
        Route,
        "select slug, route_path, served_version_id, limits from functions"
        " where site_id = $1 and served_version_id is not null and deleted_at is null order by id",
        site,
    )


async def list_served_versions(tx: Tx, site: str) -> list[tuple[str, str]]:
    return await tx.all(
        lambda function, version: (str(function), str(version)),
        "select id, served_version_id from functions"
        " where site_id = $1 and served_version_id is not null and deleted_at is null order by id",
        site,
    )


async def find_artifact(tx: Tx, function: str, artifact: str) -> tuple[str, str] | None:
    """An artifact that was built for this function: its id and digest."""
    return await tx.one(
        lambda id_, digest: (str(id_), str(digest)),
        "select a.id, a.digest from artifacts a join builds b on b.id = a.build_id"
        " where a.id = $2 and b.function_id = $1 and a.serve_model = 'wasm' for key share of a",
        *(function, artifact),
    )


async def insert_version(tx: Tx, function: str, artifact: str, digest: str) -> FunctionVersionId:
    id_ = FunctionVersionId(new_id("fnv"))
    await tx.run(
        "insert into function_versions (id, function_id, artifact_id, digest, created_at)"
        " values ($1, $2, $3, $4, $5)",
        *(id_, function, artifact, digest, tx.now),
    )
    return id_


async def find_version(tx: Tx, function: str, version: str) -> Version | None:
    return await tx.one(
        Version,
        "select id, function_id, artifact_id, digest from function_versions"
        " where function_id = $1 and id = $2",
        *(function, version),
    )


async def page_versions(tx: Tx, function: VisibleFunction, request: PageRequest) -> Page[FunctionVersionView]:
    return await request.fetch(
        tx,
        FunctionVersionView,
        "select v.id, v.artifact_id, v.digest, v.created_at, coalesce(v.id = f.active_version_id, false)"
        " from function_versions v join functions f on f.id = v.function_id"
        " where v.function_id = $1 and v.id < $2 order by v.id desc limit $3",
        function.id,
    )


async def forget_old_versions(tx: Tx, function: str) -> None:
    """Those that no rollback needs. The one that is served stays, however old it is."""
    await tx.run(
        "delete from function_versions v using functions f where f.id = v.function_id and f.id = $1"
        " and v.id is distinct from f.active_version_id and v.id is distinct from f.served_version_id"
        " and v.id < (select min(id) from (select id from function_versions where function_id = $1"
        " order by id desc limit $2) newest)",
        *(function, MOST_VERSIONS),
    )


async def list_limited(
    tx: Tx, node: str, versions: Sequence[str], moments: Sequence[datetime], *, again_after: timedelta
) -> list[tuple[str, str]]:
    """Functions on the node, and their versions, whose requests were refused at these moments, unless that
    was recorded lately. Records it."""
    return await tx.all(
        lambda function, version: (str(function), str(version)),
        "update functions f set limited_at = least(l.moment, $4)"
        " from unnest($2::text[], $3::timestamptz[]) as l (version, moment)"
        " join function_versions v on v.id = l.version, environments e"
        " where f.id = v.function_id and f.deleted_at is null and e.site_id = f.site_id"
        " and e.type = 'production' and e.node_id = $1"
        " and (f.limited_at is null or least(l.moment, $4) > f.limited_at + $5) returning f.id, v.id",
        *(node, list(versions), list(moments), tx.now, again_after),
    )


async def list_unremoved(tx: Tx, *, before: datetime, limit: int) -> list[str]:
    """Functions that were deleted and have no job that removes them."""
    return await tx.all(
        str,
        "select f.id from functions f where f.deleted_at <= $1 and not exists (select from jobs j"
        " where j.site_id = f.site_id and j.type = 'function.delete' and j.status in ('queued', 'running')"
        " and j.resource ->> 'id' = f.id) order by f.id limit $2",
        *(before, limit),
    )
