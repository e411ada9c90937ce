"""What a container may use, and which users of the host its processes run as."""

from dataclasses import dataclass

MB = 1 << 20
FIRST_UID = 1 << 28
"""The first user of the first container, far from any user of the host."""
UIDS_PER_CONTAINER = 1 << 16


@dataclass(frozen=True)
class ContainerLimits:
    memory_mb: int = 2048
    processes: int = 512
    cpus: float = 2.0
    cpu_shares: int = 128
    """Everything else on the host has 1024, so a busy processor serves sites first."""


def first_uid(slot: int) -> int:
    """The first of the range of users that belongs to a slot. Containers that run at the same time must have
    different slots."""
    return FIRST_UID + slot * UIDS_PER_CONTAINER


class ContainerFailed(Exception):
    """The node could not provide the container. Trying again may help."""
