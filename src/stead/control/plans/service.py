"""Checks the quotas of an owner's plan."""

from stead.control.engines.postgres import Tx
from stead.control.plans import store
from stead.control.plans.rules import (
    EXHAUSTED,
    EXHAUSTED_ACCOUNT,
    GB,
    MB,
    AccountQuota,
    Owner,
    Quota,
    StorageExhausted,
)
from stead.control.plans.schema import PlanView
from stead.control.plans.store import Pool
from stead.shared.ids import AccountId, TeamId


async def require_room(tx: Tx, owner: Owner, quota: Quota, *, site: str | None = None, more: int = 1) -> None:
    """Raise if the quota does not allow `more`. Concurrent checks of one owner wait for each other.

    Branches are counted per site, everything else per owner.
    """
    if not more:
        return
    await store.lock(tx, owner)
    limit = await store.limit(tx, owner, quota)
    if await store.count(tx, owner, quota, site) + more > limit:
        raise EXHAUSTED[quota](limit=limit)


async def require_room_in_account(tx: Tx, account: AccountId, quota: AccountQuota) -> None:
    """Raise if the account cannot have one more. Concurrent checks of one account wait for each other."""
    await store.lock(tx, Owner(account_id=account))
    limit = await store.account_limit(tx, account, quota)
    if await store.count_of_account(tx, account, quota) >= limit:
        raise EXHAUSTED_ACCOUNT[quota](limit=limit)


async def resolve_quota_owner(tx: Tx, owner: str) -> str:
    """The owner toward whose limits something counts: for a team that has no quota of its own, the account
    that created it."""
    return await store.find_sharing_account(tx, owner) or owner


async def lock(tx: Tx, owner: Owner) -> None:
    """Until the transaction ends, no other transaction can check quotas of this owner."""
    await store.lock(tx, owner)


async def require_storage(tx: Tx, owner: Owner, *, more: int, times: int = 1) -> None:
    """Raise if the quota, or so many times the quota, does not allow this many more bytes. Call `lock` first
    for an exact check."""
    limit = await store.storage_limit(tx, owner)
    if await store.storage(tx, owner) + more > limit * GB * times:
        raise StorageExhausted(limit=limit)


async def get_pool(tx: Tx, owner: Owner) -> Pool:
    """The teams and accounts whose resources are counted together with those of the owner."""
    return await store.pool_of(tx, owner)


async def get_function_state_limit(tx: Tx, owner: Owner) -> int:
    """How many bytes the functions of all sites of the owner may keep."""
    return await store.function_state_limit(tx, owner) * MB


async def of_team(tx: Tx, team: TeamId) -> PlanView | None:
    return await store.plan(tx, Owner(team_id=team))
