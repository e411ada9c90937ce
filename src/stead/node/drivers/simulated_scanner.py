"""Simulated scans for malware, and a simulated quarantine."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.node.drivers.simulation import Simulation, require_environment
from stead.protocol.work.scanning import (
    Component,
    Finding,
    QuarantineFiles,
    QuarantineOutcome,
    QuarantineReport,
    RestoreFile,
    ScanEnvironment,
    ScanReport,
)

SIMULATED_MALWARE = "simulate-malware"
SIMULATED_FILE = "wp-content/uploads/simulated.php"
SIMULATED_SHA256 = hashlib.sha256(b"simulated malware").hexdigest()


class SimulatedScanner(Driver):
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(ScanEnvironment, self.scan_environment, ("cms",)),
            Handler(QuarantineFiles, self.quarantine_files, ("cms",)),
            Handler(RestoreFile, self.restore_file, ("cms",)),
        ]

    async def scan_environment(self, task: Assignment, work: ScanEnvironment) -> ScanReport:
        """A host with the label `simulate-malware` has an infected file, until it was moved or ignored."""
        path = self._simulation.path_of(task)
        await self._simulation.simulate(ScanEnvironment, task)
        require_environment(path)
        await task.output.say("simulator: SIMULATION: nothing was scanned")
        hosts = {*work.hosts, *self._simulation.hosts.list_hosts(task.environment)}
        infected = any(host.startswith(SIMULATED_MALWARE) for host in hosts)
        held = self._list_held(path)
        found = Finding(SIMULATED_FILE, SIMULATED_SHA256, "simulated_malware", "simulator", "line 1", 64)
        has_file = infected and not held and SIMULATED_SHA256 not in work.ignored
        return ScanReport(
            findings=(found,) if has_file else (),
            components=(Component("core", "wordpress", "WordPress", "6.8"),),
            held=held,
            files=1,
            scanned=1,
            clamd="simulated",
            rules="simulated",
        )

    async def quarantine_files(self, task: Assignment, work: QuarantineFiles) -> QuarantineReport:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(QuarantineFiles, task)
        require_environment(path)
        for item in work.items:
            self._held(path, item.detection).touch(mode=0o600)
        await task.output.say("simulator: SIMULATION: no file was moved")
        return QuarantineReport(
            tuple(QuarantineOutcome(each.detection, "quarantined") for each in work.items)
        )

    async def restore_file(self, task: Assignment, work: RestoreFile) -> None:
        path = self._simulation.path_of(task)
        await self._simulation.simulate(RestoreFile, task)
        require_environment(path)
        self._held(path, work.detection).unlink(missing_ok=True)
        await task.output.say("simulator: SIMULATION: no file was restored")

    def _held(self, path: Path, detection: str) -> Path:
        return self._simulation.datasets / f"{path.name}.{detection}"

    def _list_held(self, path: Path) -> tuple[str, ...]:
        found = self._simulation.datasets.glob(f"{path.name}.det_*")
        return tuple(sorted(each.name.partition(".")[2] for each in found))
