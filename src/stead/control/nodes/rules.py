"""The status of a node in the control plane. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from stead.shared.errors import InvalidRequest
from stead.shared.runtimes import RUNTIMES

DEFAULT_CAPACITY = 100
"""How many environments a node gets at most, unless the operator decides otherwise."""
LOST_AFTER = timedelta(seconds=30)
"""A node without a heartbeat for this long is lost."""
PLACEMENT_TIMEOUT = timedelta(seconds=10)
"""How long a dispatched job waits for a node with free capacity. A worker that has just started has not yet
received the heartbeats of the nodes."""
SILENT_REGION_TIMEOUT = timedelta(minutes=1)
"""How long it waits while all nodes of a region are lost: the connection of the worker may be the cause."""

AVAILABLE_FOR = timedelta(days=1)
"""A region or runtime is offered this long after the last heartbeat of a node that has it: an outage is no
reason to refuse a site, only to wait."""


class RegionUnavailable(InvalidRequest):
    code = "region.unavailable"
    message = "There is no region {region} that takes new sites. Available: {available}."
    remedy = "Use one of the regions that the message lists."


class RuntimeUnavailable(InvalidRequest):
    code = "runtime.unavailable"
    message = "No node of the region {region} runs {runtime} sites. Available: {available}."
    remedy = "Use a profile with one of the runtimes that the message lists, or another region."


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """What nodes of a region can host."""

    region: str
    runtimes: list[str] | None
    """None for a node that does not report its runtimes."""
    builders: list[str]

    def builds(self, builder: str) -> bool:
        return self.runtimes is None or builder in self.builders

    @property
    def hosted(self) -> Sequence[str]:
        return RUNTIMES if self.runtimes is None else self.runtimes


def describe_offers(offers: Sequence[NodeOffer]) -> str:
    """For a message: `cms in us-east; static in eu-west, us-east`."""
    regions: dict[str, set[str]] = {}
    for offer in offers:
        for runtime in offer.hosted:
            regions.setdefault(runtime, set()).add(offer.region)
    found = [f"{runtime} in {', '.join(sorted(where))}" for runtime, where in sorted(regions.items())]
    return "; ".join(found) or "nothing"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    id: str
    region: str
    capacity: int
    hosted: int
    deleted: int
    """Environments that can still be recovered, besides those that it hosts."""
    version: str
    draining: bool
    short_of_space: bool
    may_build: bool
    has_key: bool
    last_seen_at: datetime | None
    """None before its first heartbeat."""
    records_skipped: int
    """How many edge records do not fit in the memory of its nginx."""
    max_capacity: int
    """The most environments that the operator allows it."""
    edge_address: str | None
    """Where other edges reach its edge. None before its first heartbeat, unless the operator has set it."""

    def is_lost(self, now: datetime) -> bool:
        return self.last_seen_at is None or now - self.last_seen_at > LOST_AFTER


@dataclass(frozen=True, slots=True)
class NodeBefore:
    """What was known of a node before its last heartbeat."""

    region: str
    """The region of its enrolment."""
    edge_address: str | None
    """The address that counts: of its enrolment, or of its first heartbeat since then."""
    enrolled_at: datetime
    records_skipped: int


@dataclass(frozen=True, slots=True)
class AffectedSite:
    """A site whose node has become unreachable or reachable again."""

    id: str
    domain: str
    account_id: str | None
    team_id: str | None
    reason: str | None
