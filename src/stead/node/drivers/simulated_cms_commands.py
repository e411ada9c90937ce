"""Simulated commands in WordPress sites: components, content, exports of databases, passwords, WP-CLI."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stead.node import transfer
from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.node.drivers.simulation import Simulation, require_environment
from stead.protocol.questions import Question
from stead.protocol.work.access import RunCommand, SetPassword
from stead.protocol.work.cms import (
    ChangeComponents,
    ChangeContent,
    ComponentOutcome,
    ComponentsChanged,
    DatabaseExported,
    ExportDatabase,
)


class SimulatedCmsCommands(Driver):
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(RunCommand, self.run_command, ("cms",)),
            Handler(SetPassword, self.set_password, ("cms",)),
            Handler(ChangeComponents, self.change_components, ("cms",)),
            Handler(ChangeContent, self.change_content, ("cms",)),
            Handler(ExportDatabase, self.export_database, ("cms",)),
        ]

    async def run_command(self, task: Assignment, _: RunCommand) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(RunCommand, task)
        require_environment(path)
        await task.output.say("simulator: SIMULATION: the command was not run")

    async def set_password(self, task: Assignment, _: SetPassword) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(SetPassword, task)
        require_environment(path)
        await task.output.say("simulator: SIMULATION: there is no WordPress whose password could change")

    async def change_components(self, task: Assignment, work: ChangeComponents) -> ComponentsChanged:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(ChangeComponents, task)
        require_environment(path)
        for change in work.changes:
            await task.output.say(f"simulator: SIMULATION: {change.action} of {change.slug} was not done")
        return ComponentsChanged(tuple(ComponentOutcome(change.slug) for change in work.changes))

    async def change_content(self, task: Assignment, work: ChangeContent) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(ChangeContent, task)
        require_environment(path)
        for change in work.changes:
            question = Question(
                *("node", "node", task.job, task.environment, "simulator", change.kind, 1.0, change.body)
            )
            self._simulation.cms.answer(question)

    async def export_database(self, task: Assignment, work: ExportDatabase) -> DatabaseExported:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(ExportDatabase, task)
        require_environment(path)
        with tempfile.TemporaryDirectory(dir=self._simulation.scratch) as place:
            dump = Path(place) / "dump.sql"
            dump.write_text("-- A simulation: there is no database.\n")
            await transfer.put(dump, work.url)
            return DatabaseExported(dump.stat().st_size)
