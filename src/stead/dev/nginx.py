"""nginx: the edge of the node on this machine, as `steadctl edge` runs it."""

import os
from pathlib import Path
from typing import ClassVar

from stead.dev import probe
from stead.dev.engine import LOOPBACK, Engine, Place, Ports, find_program
from stead.dev.process import run
from stead.edge import main as edge
from stead.edge.leftovers import end_leftovers
from stead.edge.settings import EdgeSettings, Memory

SYSTEM_USER = "www-data"
REMEDY = (
    "apt-get install nginx libnginx-mod-http-lua lua-resty-core lua-resty-lrucache lua-cjson"
    " libnginx-mod-http-brotli-static libnginx-mod-http-modsecurity modsecurity-crs"
)


class Nginx(Engine):
    name: ClassVar[str] = "nginx"
    ports: ClassVar[Ports] = Ports(("edge", "edge_tls"))

    def __init__(self, place: Place, node: str, data: Path) -> None:
        super().__init__(place)
        self.settings = EdgeSettings(
            node_id=node,
            data=str(data),
            run=str(data / "run"),
            http=(f"{LOOPBACK}:{self.port}",),
            https=(f"{LOOPBACK}:{self.tls_port}",),
            https_port=self.tls_port,
            # It reads what customers wrote; root has no business there.
            user=SYSTEM_USER if os.geteuid() == 0 else "",
            workers=1,
            connections=1024,
            memory=Memory(records=32, redirects=32, certificates=16, pages=8),
            cache=64,
        )

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def tls_port(self) -> int:
        return self.place.ports["edge_tls"]

    def program(self) -> Path:
        # Debian puts it where only root's PATH leads.
        return edge.INSTALLED if edge.INSTALLED.exists() else find_program("nginx", REMEDY)

    async def version(self) -> str:
        said = await run([str(self.program()), "-v"])
        return said.errors.strip().rpartition("/")[2]

    async def prepare(self) -> None:
        await super().prepare()
        self._prepare()

    def _prepare(self) -> None:
        data = Path(self.settings.data)
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o711)
        edge.prepare(self.settings)
        end_leftovers(self.settings)

    def argv(self) -> list[str]:
        return edge.argv(self.settings, str(self.program()))

    def tidy(self) -> None:
        # Killed, it leaves its sockets, on which the next one could not listen.
        end_leftovers(self.settings)

    async def ready(self) -> bool:
        return (await probe.line(self.port, b"GET / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.")
