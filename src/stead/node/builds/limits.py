"""What one build may use."""

from dataclasses import dataclass

from stead.node.containers.limits import ContainerLimits


@dataclass(frozen=True)
class BuildLimits(ContainerLimits):
    seconds: int = 1500
    """For fetching and building together."""
    disk_mb: int = 4096
    concurrent: int = 2
    """How many builds run at the same time on this node."""
    cache_mb: int = 1024
    """For each site."""
    all_caches_mb: int = 20480
    """For all sites together."""
