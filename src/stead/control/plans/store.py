"""Rows of plans, and what their owners use of them."""

from stead.control.plans.rules import Owner, Quota
from stead.control.plans.schema import PlanLimitsView, PlanView, UsageView
from stead.control.platform.database import Tx

_OF_OWNER = """
  select plan from teams where id = $1
  union all
  select plan from accounts where id = $2
"""
_COUNT: dict[Quota, str] = {
    "sites": "select count(*) from sites where (team_id = $1 or account_id = $2) and status <> 'deleted'"
}
_LIMIT: dict[Quota, str] = {"sites": "max_sites"}


async def lock(tx: Tx, owner: Owner) -> None:
    """From here to the end of the transaction nobody else counts what this owner has."""
    await tx.value("select id from teams where id = $1 for update", owner.team_id)
    await tx.value("select id from accounts where id = $1 for no key update", owner.account_id)


async def limit(tx: Tx, owner: Owner, quota: Quota) -> int:
    sql = f"select {_LIMIT[quota]} from plans where name in ({_OF_OWNER})"  # noqa: S608
    return int(await tx.value(sql, owner.team_id, owner.account_id))


async def count(tx: Tx, owner: Owner, quota: Quota) -> int:
    return int(await tx.value(_COUNT[quota], owner.team_id, owner.account_id))


async def plan(tx: Tx, owner: Owner) -> PlanView | None:
    sites = await count(tx, owner, "sites")
    return await tx.one(
        lambda name, label, *limits: PlanView(name, label, PlanLimitsView(*limits), UsageView(sites, 0, 0.0)),
        "select name, label, max_sites, max_environments, max_branches_per_site, max_concurrent_jobs,"  # noqa: S608
        f" max_storage_gb from plans where name in ({_OF_OWNER})",
        owner.team_id,
        owner.account_id,
    )
