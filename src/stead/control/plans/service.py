"""Asks whether an owner's plan has room."""

from stead.control.engines.postgres import Tx
from stead.control.plans import store
from stead.control.plans.rules import EXHAUSTED, GB, Owner, Quota, StorageExhausted
from stead.control.plans.schema import PlanView
from stead.shared.ids import TeamId


async def require_room(tx: Tx, owner: Owner, quota: Quota, *, site: str | None = None, more: int = 1) -> None:
    """Refuse unless there is room for so many more. Of two who ask at once, the second waits for the first.

    Branches are counted for one site, all else for its owner.
    """
    if not more:
        return
    await store.lock(tx, owner)
    limit = await store.limit(tx, owner, quota)
    if await store.count(tx, owner, quota, site) + more > limit:
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
