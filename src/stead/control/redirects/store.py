"""Queries of redirects: one row per site with the whole set."""

from typing import Any

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.redirects.rules import RedirectRule, build_redirect_set, split_into_parts
from stead.protocol.edge_records import RedirectSet


async def list_rules(tx: Tx, site: str) -> list[RedirectRule]:
    return _read(await tx.value("select rules from redirect_sets where site_id = $1", site))


async def get_active_set(tx: Tx, site: str) -> RedirectSet | None:
    return await tx.one(
        lambda version, lengths: RedirectSet(version, tuple(lengths)),
        "select version, lengths from redirect_sets where site_id = $1 and parts > 0",
        site,
    )


async def count_published_parts(tx: Tx, site: str) -> int:
    """The largest number of parts that has ever been published for this site."""
    return await tx.value("select told from redirect_sets where site_id = $1", site) or 0


async def replace(tx: Tx, site: str, wanted: list[RedirectRule], *, job: str) -> None:
    """A job replaces the rules once, even if the step is repeated. `revert` restores the earlier rules."""
    before = await list_rules(tx, site)
    if await tx.value("select changed_by from redirect_sets where site_id = $1", site) != job:
        await _write(tx, site, wanted, before, job)


async def revert(tx: Tx, site: str, *, job: str) -> None:
    previous = await tx.value(
        "select previous from redirect_sets where site_id = $1 and changed_by = $2", site, job
    )
    if previous is not None:
        await _write(tx, site, _read(previous), [], f"undo {job}")


async def _write(tx: Tx, site: str, wanted: list[RedirectRule], before: list[RedirectRule], by: str) -> None:
    active = build_redirect_set(wanted)
    await tx.run(
        "insert into redirect_sets as r (site_id, rules, version, lengths, parts, told, previous, changed_by)"
        " values ($1, $2, $3, $4, $5, $5, $6, $7) on conflict (site_id) do update"
        " set rules = $2, version = $3, lengths = $4, parts = $5, told = greatest(r.told, $5),"
        " previous = $6, changed_by = $7",
        site,
        msgspec.to_builtins(wanted),
        active.version,
        list(active.lengths),
        sum(1 for _ in split_into_parts(wanted, active.version)),
        msgspec.to_builtins(before),
        by,
    )


def _read(stored: Any) -> list[RedirectRule]:
    return msgspec.convert(stored or [], list[RedirectRule])
