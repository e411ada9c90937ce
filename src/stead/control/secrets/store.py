"""Queries of secrets. Values are sealed, also those of plain variables."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.pagination import Page, PageRequest
from stead.control.secrets.rules import StoredSecret
from stead.control.secrets.schema import SecretView


class ListedSecret(NamedTuple):
    id: str
    name: str
    sealed: bytes
    is_plain: bool
    previews: bool
    updated_at: datetime


class Total(NamedTuple):
    secrets: int
    size: int


async def page(
    tx: Tx, env: VisibleEnvironment, request: PageRequest, view: Callable[[ListedSecret], SecretView]
) -> Page[SecretView]:
    return await request.fetch(
        tx,
        lambda *row: view(ListedSecret(*row)),
        "select id, name, sealed, plain, previews, updated_at from environment_secrets"
        " where env_id = $1 and name < $2 order by name desc limit $3",
        env.id,
        by="name",
    )


async def lock(tx: Tx, env: VisibleEnvironment) -> None:
    """Two requests must not both find the last free place."""
    await tx.value("select id from environments where id = $1 for no key update", env.id)


async def total_without(tx: Tx, env: VisibleEnvironment, name: str) -> Total:
    found = await tx.one(
        Total,
        "select count(*), coalesce(sum(size), 0)::int from environment_secrets"
        " where env_id = $1 and name <> $2",
        *(env.id, name),
    )
    return found or Total(0, 0)


async def save(
    tx: Tx,
    env: VisibleEnvironment,
    id_: str,
    name: str,
    *,
    sealed: bytes,
    size: int,
    is_plain: bool,
    previews: bool,
) -> None:
    await tx.run(
        "insert into environment_secrets (id, env_id, name, sealed, size, plain, previews, updated_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do update"
        " set sealed = $4, size = $5, plain = $6, previews = $7, updated_at = $8",
        *(id_, env.id, name, sealed, size, is_plain, previews, tx.now),
    )


async def delete(tx: Tx, env: VisibleEnvironment, name: str) -> bool:
    return await tx.run("delete from environment_secrets where env_id = $1 and name = $2", env.id, name) == 1


_FOR_BUILD = """
  select distinct on (s.name) s.id, s.name, s.sealed, s.plain, s.updated_at
  from environments e
  join environments o on o.site_id = e.site_id
    and (o.id = e.id or e.type = 'branch' and o.type = 'production')
  join environment_secrets s on s.env_id = o.id and (s.env_id = e.id or s.previews)
  where e.id = $1
  order by s.name, s.env_id = e.id desc
"""
"""Those of the environment; for a branch environment also those of production that previews get."""


async def list_for_build(tx: Tx, env: str) -> list[StoredSecret]:
    return await tx.all(StoredSecret, f"select id, name, sealed, plain from ({_FOR_BUILD}) found", env)  # noqa: S608


async def list_versions(tx: Tx, env: str) -> list[str]:
    """A text for each of them, which differs after every change."""
    return await tx.all(
        lambda id_, plain, at: f"{id_} {plain} {at.isoformat()}",
        f"select id, plain, updated_at from ({_FOR_BUILD}) found",  # noqa: S608
        env,
    )


async def list_named(tx: Tx, env: str, names: Sequence[str]) -> list[StoredSecret]:
    return await tx.all(
        StoredSecret,
        "select id, name, sealed, plain from environment_secrets where env_id = $1 and name = any($2)"
        " order by name",
        *(env, list(names)),
    )
