"""What a node is to the control plane. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

LOST_AFTER = timedelta(seconds=30)
PATIENCE = timedelta(seconds=10)
"""How long a job waits for a node with room, from when it was taken up: a worker that has just started has
yet to hear the nodes."""
SILENCE = timedelta(minutes=1)
"""How long it waits while no node of a region that has some is heard: that may be us, not them."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    id: str
    region: str
    capacity: int
    carrying: int
    version: str
    draining: bool
    last_seen_at: datetime

    def is_lost(self, now: datetime) -> bool:
        return now - self.last_seen_at > LOST_AFTER


@dataclass(frozen=True, slots=True)
class AffectedSite:
    """A site that has lost its node, or whose node is back."""

    id: str
    domain: str
    account_id: str | None
    team_id: str | None
    reason: str | None
