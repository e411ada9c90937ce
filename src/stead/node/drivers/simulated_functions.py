"""Simulated functions."""

from collections.abc import Sequence
from typing import Any

from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.node.drivers.releases import verify_release
from stead.node.drivers.simulation import Simulation, require_environment
from stead.protocol.work.functions import EnsureFunction, RemoveFunction


class SimulatedFunctions(Driver):
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureFunction, self.ensure_function),
            Handler(RemoveFunction, self.remove_function),
        ]

    async def ensure_function(self, task: Assignment, work: EnsureFunction) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(EnsureFunction, task)
        require_environment(path)
        verify_release(work.release)
        await task.output.say(f"simulator: SIMULATION: the function {work.function} would be started")

    async def remove_function(self, task: Assignment, work: RemoveFunction) -> None:
        self._simulation.path_of(task)
        await self._simulation.simulate(RemoveFunction, task)
        await task.output.say(f"simulator: SIMULATION: the function {work.function} would be removed")
