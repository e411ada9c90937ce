"""The drivers that a node has. A new driver gets its line here."""

from functools import partial

from stead.node.builds.assembly import build_drivers
from stead.node.drivers.driver_set import DriverSet, DriverSets
from stead.node.drivers.layout import edge_records, probe_door
from stead.node.drivers.nginx import NginxEdge
from stead.node.drivers.simulator import SimulatedBehaviour, simulated_drivers
from stead.node.drivers.static import StaticRuntime
from stead.node.feed.store import named_releases
from stead.node.processes import Run
from stead.node.settings import Settings


def install_drivers(settings: Settings, run: Run) -> DriverSets:
    data = settings.data
    live = [
        StaticRuntime(data, partial(named_releases, edge_records(data))),
        NginxEdge(probe_door(data)),
        *build_drivers(settings, run),
    ]
    behaviour = SimulatedBehaviour(settings.simulator_seconds, settings.simulated_failures)
    return {"live": DriverSet(live), "simulator": DriverSet(simulated_drivers(data, run, behaviour))}
