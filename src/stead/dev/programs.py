"""Our own programs as supervised children: started, watched and stopped like the engines they stand on."""

import importlib.metadata
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar

import msgspec

from stead.dev import probe
from stead.dev.engine import LOOPBACK, DevError, Engine, Place, Ports, surroundings
from stead.dev.process import run
from stead.dev.secrets import FirstAccount

STEADCTL = (sys.executable, "-m", "stead.steadctl")
FIRST_ACCOUNT = (
    *("--email", "you@stead.localhost", "--name", "First account"),
    *("--plan", "business", "--with-key"),
)

Keep = Callable[[FirstAccount], None]
Question = Callable[[], Awaitable[bool]]


class OurProgram(Engine):
    """Its settings are all it needs; what is in them is known to the stack."""

    def __init__(self, place: Place, environment: Mapping[str, str]) -> None:
        super().__init__(place)
        self._environment = environment

    @property
    def port(self) -> int:
        """0 for one that nobody connects to."""
        return super().port if self.ports.names else 0

    def program(self) -> Path:
        return Path(sys.executable)

    async def version(self) -> str:
        return importlib.metadata.version("stead")

    def argv(self) -> list[str]:
        return [*STEADCTL, self.name]

    def env(self) -> dict[str, str]:
        return dict(self._environment)


class Worker(OurProgram):
    name: ClassVar[str] = "worker"
    ports: ClassVar[Ports] = Ports(())
    # The API brings the schema.
    needs: ClassVar[tuple[str, ...]] = ("postgres", "redis", "nats", "temporal", "api")

    def __init__(self, place: Place, environment: Mapping[str, str], has_streams: Question) -> None:
        super().__init__(place, environment)
        self._has_streams = has_streams

    async def ready(self) -> bool:
        """It has made the streams through which nodes are asked."""
        return await self._has_streams()


class NodeAgent(OurProgram):
    name: ClassVar[str] = "node"
    ports: ClassVar[Ports] = Ports(())
    needs: ClassVar[tuple[str, ...]] = ("nats", "nginx")

    def __init__(
        self, place: Place, admit: Callable[[], Awaitable[Mapping[str, str]]], beats: Question
    ) -> None:
        super().__init__(place, {})
        self._admit, self._beats = admit, beats

    async def prepare(self) -> None:
        await super().prepare()
        self._environment = await self._admit()

    async def ready(self) -> bool:
        return await self._beats()


class Api(OurProgram):
    name: ClassVar[str] = "api"
    ports: ClassVar[Ports] = Ports(("api", "api_metrics"))
    needs: ClassVar[tuple[str, ...]] = ("postgres", "redis", "nats")

    def __init__(self, place: Place, environment: Mapping[str, str], keep: Keep) -> None:
        super().__init__(place, environment)
        self._keep = keep

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def prepare(self) -> None:
        """The schema and the first account must be there before the first request can be."""
        await super().prepare()
        await self._steadctl("migrate")
        if self.place.secrets.account is None:
            said = await self._steadctl("accounts", "create", *FIRST_ACCOUNT)
            self._keep(msgspec.json.decode(said, type=FirstAccount))

    async def _steadctl(self, *words: str) -> str:
        done = await run([*STEADCTL, *words], env=surroundings(self.env()), cwd=self.place.home)
        if done.code != 0:
            raise DevError(f"steadctl {' '.join(words)} failed: {done.errors.strip() or done.output.strip()}")
        return done.output

    async def ready(self) -> bool:
        return await probe.http_ok(self.port, "/readyz")
