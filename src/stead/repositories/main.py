"""`steadctl repositories`: serves until it receives a signal. Health checks and metrics have another port."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import uvloop

from stead.control.engines.object_store import ObjectStore, ObjectStoreUnavailable
from stead.control.http import server
from stead.control.http.client_address import parse_networks
from stead.control.http.connections import ConnectionLimits
from stead.control.http.requests import Receive, Scope, Send
from stead.control.http.website import health_site
from stead.repositories import metrics
from stead.repositories.gateway import MAX_FILE_BYTES, RepositoryGateway
from stead.repositories.settings import RepositoriesSettings, SettingsInvalid, from_environment
from stead.shared import log, open_files

HEALTH_CONNECTIONS = 32
OTHER_FILES = 256
THREADS = 32
"""For requests to the object store."""
MEGABYTE = 1024 * 1024
CHECK_SECONDS = 3.0


class Program:
    """The gateway, with enough threads for the requests of several nodes."""

    def __init__(self, settings: RepositoriesSettings) -> None:
        self._gateway = RepositoryGateway(
            _object_store(settings), settings.keys, memory=settings.repositories_memory_mb * MEGABYTE
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "store"))
        await self._gateway(scope, receive, send)


def run() -> None:
    log.configure()
    try:
        settings = from_environment()
    except SettingsInvalid as error:
        sys.exit(str(error))
    uvloop.install()
    if settings.repositories_metrics_port:
        _serve_health(settings)
    open_files.raise_limit(settings.repositories_connections * 2 + OTHER_FILES)
    limits = ConnectionLimits(
        body_seconds=settings.repositories_body_seconds,
        body_bytes=MAX_FILE_BYTES,
        pipelined=1,
        per_address=settings.repositories_connections_per_address,
        total=settings.repositories_connections,
    )
    protocol = server.limited_protocol(limits, "", parse_networks(settings.proxies), metrics.cut_off)
    server.run(Program(settings), settings.repositories_host, settings.repositories_port, protocol)


def _object_store(settings: RepositoriesSettings) -> ObjectStore:
    return ObjectStore(
        settings.s3_endpoint, settings.s3_access_key, settings.s3_secret_key, settings.s3_bucket
    )


def _serve_health(settings: RepositoriesSettings) -> None:
    objects = _object_store(settings)

    async def reaches_store() -> bool:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await objects.check_bucket()
        except (ObjectStoreUnavailable, TimeoutError):
            return False
        return True

    site = health_site(
        {"object_store": reaches_store}, frozenset({"object_store"}), dict, metrics.REPOSITORIES
    )
    limits = ConnectionLimits(per_address=HEALTH_CONNECTIONS, total=HEALTH_CONNECTIONS)
    protocol = server.limited_protocol(limits, "", cut_off=metrics.cut_off)
    server.run_in_thread(
        site, settings.repositories_metrics_host, settings.repositories_metrics_port, protocol
    )
