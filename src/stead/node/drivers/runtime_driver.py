"""What a driver of environments does. Every one of them passes the same contract tests."""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.protocol.work.hosting import (
    EnsureEnvironment,
    RemoveEnvironment,
    RestartEnvironment,
    SuspendEnvironment,
)
from stead.protocol.work.releases import EnsureRelease
from stead.shared.runtimes import Runtime


class RuntimeDriver(Driver):
    runtimes: tuple[Runtime, ...]

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureEnvironment, self._ensure_environment, self.runtimes),
            Handler(RestartEnvironment, self._restart_environment, self.runtimes),
            Handler(SuspendEnvironment, self._suspend_environment, self.runtimes),
            Handler(EnsureRelease, self.ensure_release, self.runtimes),
            Handler(RemoveEnvironment, self._remove_environment),
        ]

    @abstractmethod
    async def ensure_environment(self, task: Assignment) -> None:
        """Provide everything the environment needs to run, with a page to serve. Its content stays."""

    @abstractmethod
    async def remove_environment(self, task: Assignment) -> None:
        """Remove everything of the environment; succeeds when there is nothing."""

    @abstractmethod
    async def restart_environment(self, task: Assignment) -> None:
        """Replace the environment's processes and keep its content; refused when it is not on this node."""

    @abstractmethod
    async def suspend_environment(self, task: Assignment) -> None:
        """End the environment's processes until it is ensured again, and keep its content; succeeds when it
        is not on this node."""

    @abstractmethod
    async def ensure_release(self, task: Assignment, wanted: EnsureRelease) -> None:
        """Provide the artifact under its name, after verifying its signature and every digest. Otherwise
        refuse it with `artifact.signature_invalid` and leave nothing of it on the node."""

    @abstractmethod
    async def list_environments(self) -> Collection[str]: ...

    @abstractmethod
    async def tidy(self) -> None: ...

    async def _ensure_environment(self, task: Assignment, work: EnsureEnvironment) -> None:
        await self.ensure_environment(task)
        if work.release is not None:
            await self.ensure_release(task, work.release)

    async def _restart_environment(self, task: Assignment, _: RestartEnvironment) -> None:
        await self.restart_environment(task)

    async def _suspend_environment(self, task: Assignment, _: SuspendEnvironment) -> None:
        await self.suspend_environment(task)

    async def _remove_environment(self, task: Assignment, _: RemoveEnvironment) -> None:
        await self.remove_environment(task)
