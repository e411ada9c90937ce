"""Simulated snapshots."""

import hashlib
from collections.abc import Sequence
from typing import Any

from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.drivers.simulation import Simulation, require_environment
from stead.protocol.work.snapshots import (
    RestoreSnapshot,
    SnapshotTaken,
    SnapshotVerified,
    TakeSnapshot,
    VerifySnapshot,
)
from stead.shared.runtimes import RUNTIMES


class SimulatedSnapshots(Driver):
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(TakeSnapshot, self.take_snapshot, RUNTIMES),
            Handler(VerifySnapshot, self.verify_snapshot, RUNTIMES),
            Handler(RestoreSnapshot, self.restore_snapshot, RUNTIMES),
        ]

    async def take_snapshot(self, task: Assignment, work: TakeSnapshot) -> SnapshotTaken:
        """Nothing is stored. What is reported follows from the id alone, so that it is the same each time."""
        path = self._simulation.path_of(task)
        await self._simulation.simulate(TakeSnapshot, task)
        require_environment(path)
        await task.output.say("simulator: SIMULATION: nothing was copied to the repository")
        digest = hashlib.sha256(work.document).hexdigest()
        size = len(work.document)
        return SnapshotTaken(simulated_restic_id(work.snapshot), f"sha256:{digest}", size, size, files=1)

    async def verify_snapshot(self, task: Assignment, work: VerifySnapshot) -> SnapshotVerified:
        self._simulation.path_of(task)
        await self._simulation.simulate(VerifySnapshot, task)
        _require_snapshot(work.snapshot, work.restic_id)
        await task.output.say("simulator: SIMULATION: nothing was restored or compared")
        return SnapshotVerified(files=1, booted=work.boot and work.runtime == "cms")

    async def restore_snapshot(self, task: Assignment, work: RestoreSnapshot) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(RestoreSnapshot, task)
        _require_snapshot(work.snapshot, work.restic_id)
        self._simulation.datasets.joinpath(f"{path.name}.{work.dataset}").touch(mode=0o600)
        await task.output.say("simulator: SIMULATION: nothing was restored")


def simulated_restic_id(snapshot: str) -> str:
    return hashlib.sha256(snapshot.encode()).hexdigest()


def _require_snapshot(snapshot: str, restic_id: str) -> None:
    if restic_id != simulated_restic_id(snapshot):
        raise Refusal("backup.damaged", f"the snapshot {snapshot} is not in the repository (simulated)")
