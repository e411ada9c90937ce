"""The status of a node in the control plane. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

LOST_AFTER = timedelta(seconds=30)
"""A node without a heartbeat for this long is lost."""
PLACEMENT_TIMEOUT = timedelta(seconds=10)
"""How long a dispatched job waits for a node with free capacity. A worker that has just started has not yet
received the heartbeats of the nodes."""
SILENT_REGION_TIMEOUT = timedelta(minutes=1)
"""How long it waits while all nodes of a region are lost: the connection of the worker may be the cause."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    id: str
    region: str
    capacity: int
    hosted: int
    version: str
    draining: bool
    last_seen_at: datetime

    def is_lost(self, now: datetime) -> bool:
        return now - self.last_seen_at > LOST_AFTER


@dataclass(frozen=True, slots=True)
class AffectedSite:
    """A site whose node has become unreachable or reachable again."""

    id: str
    domain: str
    account_id: str | None
    team_id: str | None
    reason: str | None
