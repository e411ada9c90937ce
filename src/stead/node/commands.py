"""From a piece of work to the driver call that does it."""

from collections.abc import Mapping
from typing import assert_never

from stead.node.drivers.ports import Assignment, Drivers, Runtime
from stead.protocol.commands import (
    Build,
    Driver,
    EnsureEnvironment,
    EnsureRelease,
    EnsureRoute,
    Facts,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    Work,
)

DriversOf = Mapping[Driver, Drivers]


async def carry_out(drivers: Drivers, work: Work, task: Assignment) -> Facts:
    """What there is to say of it when it is done."""
    match work:
        case EnsureEnvironment(runtime, release):
            await _ensure_environment(drivers.runtime(runtime), task, release)
        case RemoveEnvironment():
            # It does not say of which kind it was; removing what is not there is fine.
            for each in drivers.all_runtimes():
                await each.remove_environment(task)
        case RestartEnvironment(runtime):
            await drivers.runtime(runtime).restart_environment(task)
        case EnsureRoute(hosts):
            await drivers.routes.ensure_route(task, hosts)
        case RemoveRoute():
            await drivers.routes.remove_route(task)
        case Probe():
            await drivers.edge.probe(task, work)
        case Build():
            return await drivers.builder(work.builder).build(task, work)
        case EnsureRelease():
            await drivers.runtime(work.runtime).ensure_release(task, work)
        case _ as never:
            assert_never(never)
    return {}


async def _ensure_environment(runtime: Runtime, task: Assignment, release: EnsureRelease | None) -> None:
    await runtime.ensure_environment(task)
    if release is not None:
        await runtime.ensure_release(task, release)
