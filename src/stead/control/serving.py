"""`steadctl api`, the HTTP server with metrics on a separate address, and `steadctl worker`."""

import gc
from dataclasses import replace
from typing import Any

import uvloop

from stead.control import metrics, worker
from stead.control.app import ControlPlane
from stead.control.http import access_log, server
from stead.control.http.client_address import parse_networks
from stead.control.http.connections import ConnectionLimits
from stead.control.http.website import metrics_site
from stead.control.settings import Settings, from_environment
from stead.shared import ids, log, open_files

METRICS_CONNECTIONS = 32
OTHER_FILES = 256
"""Open files besides the connections of clients: engines, logs, libraries."""


def run_worker() -> None:
    settings = from_environment()
    log.configure()
    ids.new_id.set_cell(settings.cell)
    uvloop.run(worker.run(settings, serve_health=_serve_health))


def _serve_health(site: Any, settings: Settings) -> None:
    limits = ConnectionLimits(
        head_seconds=settings.request_head_seconds,
        body_seconds=settings.request_body_seconds,
        per_address=METRICS_CONNECTIONS,
        total=METRICS_CONNECTIONS,
    )
    protocol = server.limited_protocol(limits, settings.docs)
    server.run_in_thread(site, settings.metrics_host, settings.worker_port, protocol)


def run_api() -> None:
    settings = from_environment()
    log.configure()
    ids.new_id.set_cell(settings.cell)
    limits = ConnectionLimits(
        head_seconds=settings.request_head_seconds,
        body_seconds=settings.request_body_seconds,
        per_address=settings.connections_per_address,
        total=settings.connections,
    )
    for_metrics = replace(limits, per_address=METRICS_CONNECTIONS, total=METRICS_CONNECTIONS)
    server.run_in_thread(
        metrics_site(metrics.API),
        settings.metrics_host,
        settings.metrics_port,
        server.limited_protocol(for_metrics, settings.docs),
    )
    plane = ControlPlane(settings, access_log=access_log.to_stdout())
    _tune_garbage_collection()
    open_files.raise_limit(settings.connections + OTHER_FILES)
    protocol = server.limited_protocol(limits, settings.docs, parse_networks(settings.proxies))
    server.run(plane, settings.api_host, settings.api_port, protocol)


def _tune_garbage_collection() -> None:
    """Exclude the objects that exist at start from collections: they live as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
