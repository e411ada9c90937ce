"""All environments of a runtime on this node: brought back at start, put to sleep when nothing happens."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import structlog

from stead.node.containers.limits import ContainerFailed
from stead.node.containers.services import ServiceContainer, Services
from stead.node.hosting.environment import EnvironmentPlan, HostedEnvironment
from stead.node.hosting.wake_budget import WakeBudget

IDLE_CHECK_SECONDS = 5.0

log = structlog.get_logger()

VisitedAgo = Callable[[str], float | None]


class Hosts:
    def __init__(
        self,
        services: Services,
        budget: WakeBudget,
        *,
        idle_seconds: float,
        visited_ago: VisitedAgo = lambda _: None,
    ) -> None:
        """`visited_ago` returns how many seconds ago an environment was visited; None if that is unknown."""
        self._services, self._idle_seconds, self._visited_ago = services, idle_seconds, visited_ago
        self.budget = budget
        self._environments: dict[str, HostedEnvironment] = {}

    def find(self, environment: str) -> HostedEnvironment | None:
        return self._environments.get(environment)

    async def open(self, environment: str, plan: EnvironmentPlan, *, suspended: bool) -> HostedEnvironment:
        """Begin to host the environment; it sleeps, unless its container runs already. One that was suspended
        is resumed, unless it is still `suspended`."""
        known = self._environments.get(environment)
        if known is not None:
            known.plan = plan
            if not suspended:
                known.resume()
            return known
        hosted = HostedEnvironment(plan, self._services, self.budget)
        await hosted.open(suspended=suspended)
        self._environments[environment] = hosted
        return hosted

    async def suspend(self, environment: str, container: ServiceContainer) -> None:
        """End its container, also one that could not be brought back, and refuse visitors."""
        hosted = self._environments.get(environment)
        if hosted is None:
            await self._services.remove(container)
        else:
            await hosted.suspend()

    async def remove(self, environment: str, container: ServiceContainer) -> None:
        """End its container, also one that could not be brought back, and stop listening."""
        hosted = self._environments.get(environment)
        if hosted is None:
            await self._services.remove(container)
            return
        await hosted.remove()
        await hosted.close()
        del self._environments[environment]

    async def remove_unknown_containers(self, known: Collection[str], bundles: Path) -> None:
        """End containers of environments that are no longer on this node."""
        for name in await self._services.list_names():
            if name not in known:
                log.warning("container.unknown", container=name)
                try:
                    await self._services.remove(ServiceContainer(name, bundles / name, Path("/dev/null")))
                except (OSError, TimeoutError) as error:
                    log.warning("container.not_ended", container=name, error=type(error).__name__)

    async def run(self, tidy: Callable[[str], Awaitable[None]]) -> None:
        """Put idle environments to sleep, until cancelled. `tidy` is called for each one that is awake."""
        while True:
            await asyncio.sleep(IDLE_CHECK_SECONDS)
            awake = [(name, each) for name, each in self._environments.items() if each.state == "awake"]
            # At the same time: one that does not end must not keep the others from sleeping.
            await asyncio.gather(*(self._check(name, hosted, tidy) for name, hosted in awake))
            self.budget.relieve()

    async def _check(
        self, name: str, hosted: HostedEnvironment, tidy: Callable[[str], Awaitable[None]]
    ) -> None:
        try:
            await tidy(name)
            if await hosted.sleep_if_idle(self._idle_seconds, self._visited_ago(name)):
                log.info("environment.asleep", environment=name)
        except (ContainerFailed, OSError, TimeoutError) as error:
            log.warning("environment.unmanageable", environment=name, error=type(error).__name__)

    async def close(self, *, keep_running: bool = True) -> None:
        """Stop watching all environments. Their containers continue, unless they are ended."""
        for hosted in self._environments.values():
            if not keep_running:
                await hosted.end()
            await hosted.close()
        self._environments.clear()
