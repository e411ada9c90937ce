"""Ports for servers that a test starts itself: claimed as a stack's are, so that two runs never meet."""

from stead.dev.engine import Ports
from stead.dev.ports import Claims

_claims = Claims()


def own_ports(count: int) -> list[int]:
    """Nobody else gets them as long as this process lives, also while nothing listens on them."""
    names = tuple(f"test {number}" for number in range(count))
    return list(_claims.settle([Ports(names)], {}).values())
