"""A worker that is killed while it waits for the authority."""

import asyncio
import sys
import tempfile
from pathlib import Path

from stead.dev.engines.pebble import Pebble
from stead.dev.subprocesses import Streams, spawn, wait_for_exit
from tests.control.certificates.acme_proxy import AcmeProxy
from tests.control.certificates.conftest import Harness

TIMEOUT = 30


async def kill_certifier_at(path: str, harness: Harness, proxy: AcmeProxy) -> None:
    """It is killed after the authority has processed the request and before the response arrives."""
    proxy.hold_back = path
    settings, pebble = harness.plane.settings, harness.stack[Pebble]
    with tempfile.TemporaryFile() as empty:
        victim = spawn(
            [
                *(sys.executable, "-m", "tests.control.certificates.certifier_process"),
                *(settings.database_url, settings.sealing_key, proxy.directory),
                *(str(pebble.server_certificate), str(harness.stack.node_data)),
            ],
            streams=Streams(empty, empty, sys.stderr.fileno()),
            cwd=Path(__file__).parents[3],
        )
    try:
        await asyncio.wait_for(proxy.held_back.wait(), TIMEOUT)
    finally:
        victim.kill()
        await wait_for_exit(victim)
    proxy.release_responses()
