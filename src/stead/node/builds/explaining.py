"""Why a stage failed, in words for the one whose build it was."""

from stead.node.builds.caps import BuildFailed, Caps
from stead.node.builds.cgroups import Strain
from stead.node.builds.disks import is_full, mounted_below
from stead.node.builds.sandbox import Room


def explained(code: int, strain: Strain, room: Room, caps: Caps, step: str) -> BuildFailed | None:
    """None when it ended well. A limit that had to act is the reason, whatever the program made of it."""
    if code == 0:
        return None
    if limit := limit_met(strain, room, caps):
        return BuildFailed(f"{step} failed: {limit}")
    return BuildFailed(f"{step} ended with {_status(code)}")


def overrun(room: Room, caps: Caps) -> BuildFailed:
    besides = limit_met(room.strain, room, caps)
    told = f"the build was stopped: it took longer than {caps.seconds} s"
    return BuildFailed(f"{told}; besides, {besides}" if besides else told)


def limit_met(strain: Strain, room: Room, caps: Caps) -> str:
    if strain.killed_for_memory:
        return f"it ran out of memory; the limit is {caps.memory_mb} MB"
    if strain.forks_refused:
        return f"it started too many processes; the limit is {caps.processes}"
    if is_full(room.work):
        return disk_full(caps)
    if room.cache in mounted_below(room.cache) and is_full(room.cache):
        return f"the cache of its site was full, with {caps.cache_mb} MB; it begins anew"
    return ""


def disk_full(caps: Caps) -> str:
    return f"its disk is full; the limit is {caps.disk_mb} MB"


def _status(code: int) -> str:
    return f"signal {code - 128}" if 128 < code < 160 else f"exit code {code}"
