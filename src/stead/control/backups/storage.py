"""Snapshots count toward the storage of a plan with what they take in the store."""

from stead.control.artifacts import service as artifacts
from stead.control.backups.rules import SnapshotKind
from stead.control.engines.postgres import Tx
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner

_BEFORE_CHANGES: frozenset[SnapshotKind] = frozenset(
    {"before_push", "before_restore", "before_switch", "before_update", "before_quarantine"}
)
_TIMES = 2
"""A full plan should not prevent a restore. So the snapshots before changes may use this many times the
storage of the plan, which still bounds them: each change of a large site could add its whole size."""


async def require_room(tx: Tx, owner: Owner, kind: SnapshotKind) -> None:
    """Raise StorageExhausted if the plan has no room for a snapshot. Those of the schedule, and the last one
    of a site, are always taken: their number is limited by retention."""
    if kind == "on_demand":
        await artifacts.ensure_storage(tx, owner)
    elif kind in _BEFORE_CHANGES:
        await plans.require_storage(tx, owner, more=1, times=_TIMES)
