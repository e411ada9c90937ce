"""The drivers that a node has. A new driver gets its line here."""

import shutil
from functools import partial

import structlog

from stead.node.access.driver import AccessDriver
from stead.node.access.table import AccessTable
from stead.node.builds.assembly import build_drivers
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver_set import DriverSet, DriverSets
from stead.node.drivers.edge_probe import EdgeProbe
from stead.node.drivers.layout import edge_store, probe_socket
from stead.node.drivers.simulation import SimulatedBehaviour
from stead.node.drivers.simulator import simulated_drivers
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.feed.record_store import referenced_releases
from stead.node.functions.assembly import functions_driver, why_unavailable
from stead.node.hosting.hosts import VisitedAgo
from stead.node.processes import Run
from stead.node.settings import Settings
from stead.node.snapshots.restic import PROGRAM as RESTIC
from stead.node.snapshots.restic import Restic
from stead.node.snapshots.static_driver import StaticSnapshots
from stead.node.ssh.visitor import Report
from stead.node.wordpress.assembly import wordpress_drivers
from stead.node.wordpress.sign_ins import Ask, ask_nobody

log = structlog.get_logger()


def install_drivers(
    settings: Settings,
    run: Run,
    space: DiskSpace,
    access: AccessTable,
    visited_ago: VisitedAgo = lambda _: None,
    ask_sign_in: Ask = ask_nobody,
    report_session: Report = lambda *_: None,
) -> DriverSets:
    data = settings.data
    has_functions = not (reason := why_unavailable(settings))
    if not has_functions:
        log.info("functions.unavailable", reason=reason)
    static = StaticRuntime(
        data,
        partial(referenced_releases, edge_store(data)),
        space,
        runtimes=("static", "wasm") if has_functions else ("static",),
    )
    live = [
        static,
        *([StaticSnapshots(data, Restic(run))] if shutil.which(RESTIC) else []),
        EdgeProbe(probe_socket(data)),
        AccessDriver(access),
        *([functions_driver(settings, static.releases, space)] if has_functions else []),
        *build_drivers(settings, run, space),
        *wordpress_drivers(
            settings, run, space, static.releases, access, visited_ago, ask_sign_in, report_session
        ),
    ]
    behaviour = SimulatedBehaviour(settings.simulator_seconds, settings.simulated_failures)
    return {"live": DriverSet(live), "simulator": DriverSet(simulated_drivers(data, run, behaviour))}
