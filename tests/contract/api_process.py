"""A separate API process, on free ports, with the engines of this test run."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec

from stead.control.settings import Settings
from stead.dev.subprocesses import Streams, spawn
from tests.patience import Patience

READY_SECONDS = 30
END_SECONDS = 20


@contextmanager
def serving(settings: Settings, log: Path, program: str = "stead.steadctl") -> Iterator[str]:
    """Yield the address of the process, which ends with the block. Its output is in `log`. `program` is the
    module that takes the place of `steadctl`."""
    address = f"http://127.0.0.1:{settings.api_port}"
    given = msgspec.to_builtins(msgspec.structs.replace(settings, base_url=address))
    environment = {f"STEAD_{name.upper()}": str(value) for name, value in given.items()}
    with log.open("wb") as output:
        process = spawn(
            [sys.executable, "-m", program, "api"],
            streams=Streams(subprocess.DEVNULL, output, subprocess.STDOUT),
            env={**os.environ, **environment},
            cwd=Path.cwd(),
        )
    try:
        _wait_until_ready(process, address, log)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_SECONDS)


def _wait_until_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    limit = Patience(READY_SECONDS)
    while not limit.is_over and process.poll() is None:
        try:
            if httpx.get(f"{address}/readyz", timeout=1).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the API was not ready in {READY_SECONDS} s:\n{log.read_text()[-4000:]}")
