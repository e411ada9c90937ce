"""`steadctl api`, the HTTP server with metrics on a separate port, and `steadctl worker`."""

import gc

import uvicorn
import uvloop

from stead.control import metrics, worker
from stead.control.app import ControlPlane
from stead.control.http import access_log
from stead.control.settings import from_environment
from stead.shared import ids, log


def run_worker() -> None:
    settings = from_environment()
    log.configure()
    ids.new_id.set_cell(settings.cell)
    uvloop.run(worker.run(settings))


def run_api() -> None:
    settings = from_environment()
    log.configure()
    ids.new_id.set_cell(settings.cell)
    metrics.serve(settings.metrics_port, settings.api_host)
    plane = ControlPlane(settings, access_log=access_log.to_stdout())
    _tune_garbage_collection()
    uvicorn.run(
        plane,
        host=settings.api_host,
        port=settings.api_port,
        loop="uvloop",
        http="httptools",
        lifespan="on",
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def _tune_garbage_collection() -> None:
    """Exclude the objects that exist at start from collections: they live as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
