"""Rows of plans, and how much of them their owners use.

With a plan whose teams share one quota, an account and the teams that it created are counted together, so
that another team does not bring another quota.
"""

from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.plans.rules import GB, AccountQuota, Owner, Quota
from stead.control.plans.schema import PlanLimitsView, PlanView, UsageView
from stead.shared.ids import AccountId

_OF_OWNER = """
  select plan from teams where id = $1
  union all
  select plan from accounts where id = $2
"""
_CLONES = (
    "select count(*) from environments e join sites s on s.id = e.site_id"
    " where (s.team_id = any($1) or s.account_id = any($2)) and ($3::text is null or s.id = $3)"
    " and e.type <> 'production' and e.status <> 'deleted'"
)
_COUNT: dict[Quota, str] = {
    # A failed site on no node is one whose first deployment failed. It counts while a job may place it.
    "sites": "select count(*) from sites s where (team_id = any($1) or account_id = any($2))"
    " and ($3::text is null or id = $3) and status <> 'deleted' and (status <> 'failed'"
    " or exists (select from environments e where e.site_id = s.id and e.node_id is not null)"
    " or exists (select from jobs j where j.site_id = s.id and j.status in ('queued', 'running')))",
    # Those that keep a disk and a database on a node.
    "deleted_sites": "select count(*) from sites s where (team_id = any($1) or account_id = any($2))"
    " and $3::text is null and status = 'deleted' and runtime = 'cms' and mode = 'live'"
    " and exists (select from environments e where e.site_id = s.id and e.node_id is not null)",
    "environments": _CLONES,
    "branches": f"{_CLONES} and e.type = 'branch'",
    "projects": "select count(*) from projects where (team_id = any($1) or account_id = any($2))"
    " and $3::text is null",
}
_LIMIT: dict[Quota, str] = {
    "sites": "max_sites",
    "deleted_sites": "2 * max_sites + 10",
    "environments": "max_environments",
    "branches": "max_branches_per_site",
    "projects": "max_projects",
}
_COUNT_OF_ACCOUNT: dict[AccountQuota, str] = {
    "teams": "select count(*) from teams where founded_by = $1",
    "keys": "select count(*) from api_keys where account_id = $1 and revoked_at is null and expires_at > $2",
    "invites": "select count(*) from team_invites where invited_by = $1 and accepted_at is null"
    " and expires_at > $2",
    "webhook_endpoints": "select count(*) from webhook_endpoints where account_id = $1"
    " and deleted_at is null",
}
_EXPIRING: frozenset[AccountQuota] = frozenset({"keys", "invites"})
"""Their queries need the current time."""
_POOL = """
  with founder as (
    select coalesce(t.founded_by, $2::text) as id,
      coalesce(p.teams_share_quota, ap.teams_share_quota) as shared
    from (select 1) one
    left join teams t on t.id = $1 left join plans p on p.name = t.plan
    left join accounts a on a.id = $2 left join plans ap on ap.name = a.plan
  )
  select
    array(select t.id from teams t join plans p on p.name = t.plan and p.teams_share_quota
      join founder f on f.shared and f.id = t.founded_by union select $1::text where $1::text is not null),
    array(select a.id from accounts a join plans p on p.name = a.plan and p.teams_share_quota
      join founder f on f.shared and f.id = a.id union select $2::text where $2::text is not null)
"""
_DIGITS = 6
_STORAGE = """
  select (
    select coalesce(sum(blob.bytes), 0)::bigint from (
      select greatest(max(b.size), max(u.unpacked_size)) as bytes
      from artifact_blobs u join blobs b on b.digest = u.digest join artifacts a on a.id = u.artifact_id
      join sites s on s.id = a.site_id where s.team_id = any($1) or s.account_id = any($2) group by u.digest
    ) blob
  ) + (
    select coalesce(sum(u.size), 0) from uploads u join sites s on s.id = u.site_id
    where s.team_id = any($1) or s.account_id = any($2)
  ) + (
    select coalesce(sum(r.stored_bytes), 0)::bigint from repositories r join sites s on s.id = r.site_id
    where s.team_id = any($1) or s.account_id = any($2))
"""


class Pool(NamedTuple):
    """The teams and accounts whose resources are counted together."""

    teams: list[str]
    accounts: list[str]


async def pool_of(tx: Tx, owner: Owner) -> Pool:
    found = await tx.one(Pool, _POOL, owner.team_id, owner.account_id)
    return found or Pool([], [])


async def find_sharing_account(tx: Tx, team: str) -> str | None:
    account: str | None = await tx.value(
        "select t.founded_by from teams t join plans p on p.name = t.plan"
        " where t.id = $1 and p.teams_share_quota",
        team,
    )
    return account


async def lock(tx: Tx, owner: Owner) -> None:
    """Until the transaction ends, no other transaction can count the resources of this owner."""
    await tx.value("select id from teams where id = $1 for update", owner.team_id)
    await tx.run(
        "select id from accounts where id = any($1) order by id for no key update",
        (await pool_of(tx, owner)).accounts,
    )


async def limit(tx: Tx, owner: Owner, quota: Quota) -> int:
    sql = f"select {_LIMIT[quota]} from plans where name in ({_OF_OWNER})"  # noqa: S608
    return int(await tx.value(sql, owner.team_id, owner.account_id))


async def count(tx: Tx, owner: Owner, quota: Quota, site: str | None = None) -> int:
    return int(await tx.value(_COUNT[quota], *await pool_of(tx, owner), site))


async def account_limit(tx: Tx, account: AccountId, quota: AccountQuota) -> int:
    sql = f"select p.max_{quota} from accounts a join plans p on p.name = a.plan where a.id = $1"  # noqa: S608
    return int(await tx.value(sql, account))


async def count_of_account(tx: Tx, account: AccountId, quota: AccountQuota) -> int:
    now = (tx.now,) if quota in _EXPIRING else ()
    return int(await tx.value(_COUNT_OF_ACCOUNT[quota], account, *now))


async def storage(tx: Tx, owner: Owner) -> int:
    """The unpacked size of all artifacts of the owner's sites, where each blob is counted once, with the
    largest size that was reported for one of these artifacts (builders of others may lie), the declared
    size of their uploads, whether they have arrived or not, and what their snapshots take in the store."""
    return int(await tx.value(_STORAGE, *await pool_of(tx, owner)))


async def storage_limit(tx: Tx, owner: Owner) -> int:
    sql = f"select max_storage_gb from plans where name in ({_OF_OWNER})"  # noqa: S608
    return int(await tx.value(sql, owner.team_id, owner.account_id))


async def function_state_limit(tx: Tx, owner: Owner) -> int:
    sql = f"select max_function_state_mb from plans where name in ({_OF_OWNER})"  # noqa: S608
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
