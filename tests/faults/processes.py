"""API processes as an operator runs them, so that they can be stopped and killed."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import httpx
import msgspec

from stead.dev.subprocesses import Streams
from stead.dev.supervised_program import LOOPBACK, clean_environment
from tests.client import Client
from tests.patience import Patience
from tests.preloaded.processes import spawn

START_BOUND = 30.0
STOP_BOUND = 20.0
POLL = 0.05


async def eventually(holds: Callable[[], Awaitable[bool]], *, within: float, what: str) -> float:
    """The seconds it took until `holds`; fails when that does not happen in time."""
    began, limit = time.monotonic(), Patience(within)
    while not await holds():
        assert not limit.is_over, f"not within {within} s: {what}"
        await asyncio.sleep(POLL)
    return time.monotonic() - began


class ApiProcess:
    """One `steadctl api`. Its clients check every answer against the API description."""

    def __init__(self, settings: Mapping[str, str], port: int, metrics_port: int, log: Path) -> None:
        self.url = f"http://{LOOPBACK}:{port}"
        self.port, self.metrics_port = port, metrics_port
        self._metrics_url = f"http://{LOOPBACK}:{metrics_port}/metrics"
        self._log = log
        where = {
            "STEAD_API_PORT": str(port),
            "STEAD_METRICS_PORT": str(metrics_port),
            "STEAD_BASE_URL": self.url,
        }
        with log.open("wb") as output:
            self._process = spawn(
                [sys.executable, "-m", "stead.steadctl", "api"],
                env=clean_environment({**settings, **where}),
                streams=Streams(output, output, output),
            )
        self.transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None))
        self.anonymous = Client(transport=self.transport, base_url=self.url, timeout=30)

    @property
    def pid(self) -> int:
        return self._process.pid

    def as_(self, secret: str) -> Client:
        client = self.anonymous.as_(secret)
        client.timeout = httpx.Timeout(30)
        return client

    async def until_ready(self) -> None:
        """Until it answers and has found every engine."""
        await eventually(self._finds_all, within=START_BOUND, what=f"an API process ready:\n{self.log()}")

    async def engines(self) -> dict[str, bool]:
        return dict((await self.website("/readyz")).json()["engines"])

    async def website(self, path: str) -> httpx.Response:
        """An answer that is not of the API and has no description."""
        async with httpx.AsyncClient(base_url=self.url, timeout=30) as client:
            return await client.get(path)

    async def metric(self, name: str) -> float:
        async with httpx.AsyncClient(timeout=60.0) as client:
            lines = (await client.get(self._metrics_url)).text.splitlines()
        return next((float(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0.0)

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def events(self, name: str) -> list[str]:
        """The log lines of this event."""
        lines = [line for line in self.log().splitlines() if line.startswith("{")]
        return [line for line in lines if msgspec.json.decode(line).get("event") == name]

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> None:
        self._process.terminate()

    async def exit_code(self, *, within: float) -> int:
        return await asyncio.to_thread(self._process.wait, within)

    async def stop(self) -> None:
        await self.transport.aclose()
        self.terminate()
        try:
            await self.exit_code(within=STOP_BOUND)
        except subprocess.TimeoutExpired:
            self.kill()

    async def _finds_all(self) -> bool:
        assert self.is_alive(), f"an API process ended:\n{self.log()}"
        try:
            return all((await self.engines()).values())
        except httpx.TransportError:
            return False
