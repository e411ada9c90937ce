"""What a container may use, and which users of the host its processes run as."""

from dataclasses import dataclass
from pathlib import Path

MB = 1 << 20
MEMORY = Path("/dev/shm")  # noqa: S108
"""A file system in memory, for what must not be written to a disk."""
FIRST_UID = 1 << 28
"""The first user of the first container, far from any user of the host."""
UIDS_PER_CONTAINER = 1 << 16
GATEWAY_UID = FIRST_UID - 1
"""The user of the SSH gateway, unless the settings name another one. It owns nothing, and needs no
account."""


@dataclass(frozen=True)
class ContainerLimits:
    memory_mb: int = 2048
    processes: int = 512
    cpus: float = 2.0
    cpu_shares: int = 128
    """Everything else on the host has 1024, so a busy processor serves sites first."""
    io_weight: int = 0
    """The share of a busy disk, from 10 to 1000; everything else has 500, or 100 with version 2 of control
    groups, where runc converts it. 0 where the kernel has no weights."""


def first_uid(slot: int) -> int:
    """The first of the range of users that belongs to a slot. Containers that run at the same time must have
    different slots."""
    return FIRST_UID + slot * UIDS_PER_CONTAINER


class ContainerFailed(Exception):
    """The node could not provide the container. Trying again may help."""
