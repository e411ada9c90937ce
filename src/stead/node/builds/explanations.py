"""Why a step of a build failed, in words for the customer."""

from stead.node.builds.failures import BuildFailed
from stead.node.builds.limits import BuildLimits
from stead.node.builds.workspaces import Workspace
from stead.node.containers.cgroups import LimitEvents
from stead.node.containers.disks import is_full, mounted_below


def explain_exit(
    code: int, events: LimitEvents, workspace: Workspace, limits: BuildLimits, step: str
) -> BuildFailed | None:
    """None for a successful step. A limit that took effect is the reason, whatever the exit code says."""
    if code == 0:
        return None
    if limit := reached_limit(events, workspace, limits):
        return BuildFailed(f"{step} failed: {limit}")
    return BuildFailed(f"{step} ended with {_status(code)}")


def explain_timeout(workspace: Workspace, limits: BuildLimits) -> BuildFailed:
    other = reached_limit(workspace.limit_events, workspace, limits)
    reason = f"the build was stopped: it took longer than {limits.seconds} s"
    return BuildFailed(f"{reason}; besides, {other}" if other else reason)


def reached_limit(events: LimitEvents, workspace: Workspace, limits: BuildLimits) -> str:
    """Which limit took effect; empty when none did."""
    if events.killed_for_memory:
        return f"it ran out of memory; the limit is {limits.memory_mb} MB"
    if events.forks_refused:
        return f"it started too many processes; the limit is {limits.processes}"
    if is_full(workspace.work):
        return disk_full(limits)
    if workspace.cache in mounted_below(workspace.cache) and is_full(workspace.cache):
        return f"the cache of its site was full, with {limits.cache_mb} MB; it begins anew"
    return ""


def disk_full(limits: BuildLimits) -> str:
    return f"its disk is full; the limit is {limits.disk_mb} MB"


def _status(code: int) -> str:
    return f"signal {code - 128}" if 128 < code < 160 else f"exit code {code}"
