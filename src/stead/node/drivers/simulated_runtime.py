"""Simulated environments: their datasets, releases and PHP versions, and who may enter them."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Handler
from stead.node.drivers.releases import fetch_layer, verify_release
from stead.node.drivers.runtime_driver import RuntimeDriver
from stead.node.drivers.simulation import Simulation, require_environment
from stead.protocol.questions import Question
from stead.protocol.work.access import SetAccess
from stead.protocol.work.hosting import (
    CheckPhp,
    DiscardDataset,
    EnsureEnvironment,
    PrepareDataset,
    RemoveEnvironment,
    RestartEnvironment,
    SuspendEnvironment,
    SwitchPhp,
)
from stead.protocol.work.releases import EnsureRelease
from stead.shared.runtimes import RUNTIMES


class SimulatedEnvironment(msgspec.Struct, frozen=True):
    site: str


class SimulatedRuntime(RuntimeDriver):
    runtimes = RUNTIMES

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            *super().handlers,
            Handler(PrepareDataset, self.prepare_dataset, RUNTIMES),
            Handler(DiscardDataset, self.discard_dataset, RUNTIMES),
            Handler(SetAccess, self.set_access),
            Handler(CheckPhp, self.check_php, ("cms",)),
            Handler(SwitchPhp, self.switch_php, ("cms",)),
        ]

    async def answer(self, question: Question) -> bytes | None:
        if not self._simulation.has_environment(layout.check_identifier(question.environment)):
            return None
        return self._simulation.cms.answer(question)

    async def ensure_environment(self, task: Assignment) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(EnsureEnvironment, task)
        if not path.exists():
            layout.write_file(path, msgspec.json.encode(SimulatedEnvironment(task.site)), mode=0o600)

    async def remove_environment(self, task: Assignment) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(RemoveEnvironment, task)
        self._simulation.cms.forget(path.name)
        for dataset in self._simulation.datasets.glob(f"{path.name}.*"):
            dataset.unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    async def restart_environment(self, task: Assignment) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(RestartEnvironment, task)
        require_environment(path)

    async def suspend_environment(self, task: Assignment) -> None:
        self._simulation.path_of(task)
        await self._simulation.simulate(SuspendEnvironment, task)

    async def set_access(self, task: Assignment, _: SetAccess) -> None:
        """Nobody can sign in to a simulation, so there is nothing to keep. A list belongs to no job, so
        nothing is said in the output of one."""
        self._simulation.path_of(task)

    async def prepare_dataset(self, task: Assignment, work: PrepareDataset) -> None:
        """A dataset is an empty file."""
        path = self._simulation.path_of(task)
        await self._simulation.simulate(PrepareDataset, task)
        if work.source:
            require_environment(path.with_name(layout.check_identifier(work.source)))
        self._simulation.datasets.joinpath(f"{path.name}.{work.dataset}").touch(mode=0o600)
        await task.output.say("simulator: SIMULATION: nothing was copied or installed")

    async def discard_dataset(self, task: Assignment, work: DiscardDataset) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(DiscardDataset, task)
        self._simulation.datasets.joinpath(f"{path.name}.{work.dataset}").unlink(missing_ok=True)

    async def check_php(self, task: Assignment, work: CheckPhp) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(CheckPhp, task)
        require_environment(path)
        await task.output.say(f"simulator: SIMULATION: {work.host} would be checked with PHP {work.php}")

    async def switch_php(self, task: Assignment, work: SwitchPhp) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(SwitchPhp, task)
        require_environment(path)
        await task.output.say(f"simulator: SIMULATION: the environment would run PHP {work.php}")

    async def ensure_release(self, task: Assignment, wanted: EnsureRelease) -> None:
        """The layer is downloaded and verified like a real one, and then deleted."""
        path = self._simulation.path_of(task)
        await self._simulation.simulate(EnsureRelease, task)
        require_environment(path)
        release = self._simulation.releases / layout.release_name(wanted.digest)
        (layer,), address = verify_release(wanted), wanted.layers[0].url
        if not release.exists():
            async with fetch_layer(layer, address, self._simulation.scratch):
                layout.write_file(release, b"", mode=0o600)

    async def tidy(self) -> None:
        """Simulated releases are empty files."""

    async def list_environments(self) -> Collection[str]:
        return layout.list_names(self._simulation.environments)
