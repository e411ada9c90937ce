"""Asks whether an owner's plan has room."""

from stead.control.plans import store
from stead.control.plans.rules import EXHAUSTED, GB, Owner, Quota, StorageExhausted
from stead.control.plans.schema import PlanView
from stead.control.platform.database import Tx
from stead.shared.ids import TeamId


async def require_room(tx: Tx, owner: Owner, quota: Quota) -> None:
    """Refuse unless there is room for one more. Of two who ask at once, the second waits for the first."""
    await store.lock(tx, owner)
    limit = await store.limit(tx, owner, quota)
    if await store.count(tx, owner, quota) >= limit:
        raise EXHAUSTED[quota](limit=limit)


async def hold(tx: Tx, owner: Owner) -> None:
    """Nobody else counts what this owner has until the transaction has ended."""
    await store.lock(tx, owner)


async def require_storage(tx: Tx, owner: Owner, *, more: int) -> None:
    """Refuse unless so many bytes more fit. Who needs it exact holds the owner first."""
    limit = await store.storage_limit(tx, owner)
    if await store.storage(tx, owner) + more > limit * GB:
        raise StorageExhausted(limit=limit)


async def of_team(tx: Tx, team: TeamId) -> PlanView | None:
    return await store.plan(tx, Owner(team_id=team))
