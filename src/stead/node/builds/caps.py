"""How much one build may take, and where on the node it lies."""

from dataclasses import dataclass

MB = 1 << 20
UIDS = 1 << 28
"""The first user of the first build's range, far from any of the host's."""
RANGE = 1 << 16


@dataclass(frozen=True)
class Caps:
    memory_mb: int = 2048
    seconds: int = 1500
    """For fetching and building together."""
    disk_mb: int = 4096
    processes: int = 512
    cpus: float = 2.0
    cpu_shares: int = 128
    """Everything else has 1024: where both want the processor, a site is answered first."""
    at_once: int = 2
    cache_mb: int = 1024
    """Of one site."""
    caches_mb: int = 20480
    """Of all sites."""


def first_uid(slot: int) -> int:
    return UIDS + slot * RANGE


class BuildFailed(Exception):
    """The customer's to mend. The message is what they are told."""

    code = "build.failed"


class RefMissing(BuildFailed):
    """Nothing to mend where the branch is yet to come."""

    code = "build.ref_missing"


class SandboxBroken(Exception):
    """The node's trouble: trying again may help."""
