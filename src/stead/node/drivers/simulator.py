"""The simulator: the only simulation in Stead. It serves test keys. Nothing runs, and no visitor is answered.

It records what it is asked for in small JSON files, says in the job's output that it simulates, takes as long
and fails where it is configured to, and otherwise passes the same contract tests as the real drivers.
"""

from pathlib import Path

from stead.node.drivers.driver import Driver
from stead.node.drivers.simulated_builder import SimulatedBuilder
from stead.node.drivers.simulated_cms_commands import SimulatedCmsCommands
from stead.node.drivers.simulated_edge import SimulatedEdge
from stead.node.drivers.simulated_functions import SimulatedFunctions
from stead.node.drivers.simulated_runtime import SimulatedRuntime
from stead.node.drivers.simulated_scanner import SimulatedScanner
from stead.node.drivers.simulated_snapshots import SimulatedSnapshots
from stead.node.drivers.simulation import SimulatedBehaviour, Simulation
from stead.node.processes import Run


def simulated_drivers(data: Path, run: Run, behaviour: SimulatedBehaviour) -> list[Driver]:
    """The drivers of the simulator. A new one gets its line here."""
    simulation = Simulation(data, run, behaviour)
    return [
        SimulatedRuntime(simulation),
        SimulatedSnapshots(simulation),
        SimulatedScanner(simulation),
        SimulatedCmsCommands(simulation),
        SimulatedFunctions(simulation),
        SimulatedEdge(simulation),
        SimulatedBuilder(simulation),
    ]
