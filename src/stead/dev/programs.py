"""Our own programs as supervised children: started, watched and stopped like the engines they stand on."""

import importlib.metadata
import sys
from collections.abc import Callable, Mapping
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


class Api(Engine):
    name: ClassVar[str] = "api"
    ports: ClassVar[Ports] = Ports(("api", "api_metrics"))
    needs: ClassVar[tuple[str, ...]] = ("postgres", "redis", "nats")

    def __init__(self, place: Place, environment: Mapping[str, str], keep: Keep) -> None:
        super().__init__(place)
        self._environment, self._keep = environment, keep

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def program(self) -> Path:
        return Path(sys.executable)

    async def version(self) -> str:
        return importlib.metadata.version("stead")

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

    def argv(self) -> list[str]:
        return [*STEADCTL, "api"]

    def env(self) -> dict[str, str]:
        return dict(self._environment)

    async def ready(self) -> bool:
        return await probe.http_ok(self.port, "/readyz")
