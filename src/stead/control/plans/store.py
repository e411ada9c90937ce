"""Rows of plans, and how much of them their owners use."""

from stead.control.engines.postgres import Tx
from stead.control.plans.rules import GB, Owner, Quota
from stead.control.plans.schema import PlanLimitsView, PlanView, UsageView

_OF_OWNER = """
  select plan from teams where id = $1
  union all
  select plan from accounts where id = $2
"""
_CLONES = (
    "select count(*) from environments e join sites s on s.id = e.site_id"
    " where (s.team_id = $1 or s.account_id = $2) and ($3::text is null or s.id = $3)"
    " and e.type <> 'production' and e.status <> 'deleted'"
)
_COUNT: dict[Quota, str] = {
    "sites": "select count(*) from sites where (team_id = $1 or account_id = $2)"
    " and ($3::text is null or id = $3) and status <> 'deleted'",
    "environments": _CLONES,
    "branches": f"{_CLONES} and e.type = 'branch'",
}
_LIMIT: dict[Quota, str] = {
    "sites": "max_sites",
    "environments": "max_environments",
    "branches": "max_branches_per_site",
}
_DIGITS = 6
_STORAGE = """
  select coalesce(sum(b.size), 0) from blobs b where b.digest in (
    select u.digest from artifact_blobs u join artifacts a on a.id = u.artifact_id
    join sites s on s.id = a.site_id where s.team_id = $1 or s.account_id = $2)
"""


async def lock(tx: Tx, owner: Owner) -> None:
    """Until the transaction ends, no other transaction can count the resources of this owner."""
    await tx.value("select id from teams where id = $1 for update", owner.team_id)
    await tx.value("select id from accounts where id = $1 for no key update", owner.account_id)


async def limit(tx: Tx, owner: Owner, quota: Quota) -> int:
    sql = f"select {_LIMIT[quota]} from plans where name in ({_OF_OWNER})"  # noqa: S608
    return int(await tx.value(sql, owner.team_id, owner.account_id))


async def count(tx: Tx, owner: Owner, quota: Quota, site: str | None = None) -> int:
    return int(await tx.value(_COUNT[quota], owner.team_id, owner.account_id, site))


async def storage(tx: Tx, owner: Owner) -> int:
    """The total size of the blobs of all artifacts of the owner's sites. Each blob is counted once."""
    return int(await tx.value(_STORAGE, owner.team_id, owner.account_id))


async def storage_limit(tx: Tx, owner: Owner) -> int:
    sql = f"select max_storage_gb from plans where name in ({_OF_OWNER})"  # noqa: S608
    return int(await tx.value(sql, owner.team_id, owner.account_id))


async def plan(tx: Tx, owner: Owner) -> PlanView | None:
    sites, environments = await count(tx, owner, "sites"), await count(tx, owner, "environments")
    used = UsageView(sites, environments, round(await storage(tx, owner) / GB, _DIGITS))
    return await tx.one(
        lambda name, label, *limits: PlanView(name, label, PlanLimitsView(*limits), used),
        "select name, label, max_sites, max_environments, max_branches_per_site, max_concurrent_jobs,"  # noqa: S608
        f" max_storage_gb from plans where name in ({_OF_OWNER})",
        owner.team_id,
        owner.account_id,
    )
