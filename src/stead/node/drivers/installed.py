"""The drivers that a node has. A new driver gets its line here."""

from functools import partial

from stead.node.builds.assembly import build_drivers
from stead.node.drivers.driver_set import DriverSet, DriverSets
from stead.node.drivers.edge_probe import EdgeProbe
from stead.node.drivers.layout import edge_store, probe_socket
from stead.node.drivers.simulator import SimulatedBehaviour, simulated_drivers
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.feed.record_store import referenced_releases
from stead.node.processes import Run
from stead.node.settings import Settings


def install_drivers(settings: Settings, run: Run) -> DriverSets:
    data = settings.data
    live = [
        StaticRuntime(data, partial(referenced_releases, edge_store(data))),
        EdgeProbe(probe_socket(data)),
        *build_drivers(settings, run),
    ]
    behaviour = SimulatedBehaviour(settings.simulator_seconds, settings.simulated_failures)
    return {"live": DriverSet(live), "simulator": DriverSet(simulated_drivers(data, run, behaviour))}
