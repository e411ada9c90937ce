"""nginx: the edge of the node on this machine, as `steadctl edge` runs it."""

import os
from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.engine import Documentation, Engine, Peers
from stead.dev.local_node import LOCAL_NODE, node_home
from stead.dev.packages import Packages
from stead.dev.subprocesses import run
from stead.dev.supervised_program import LOOPBACK, Instance, Ports
from stead.edge import main as edge
from stead.edge.leftovers import end_leftovers
from stead.edge.settings import EdgeSettings, SharedMemory
from stead.protocol.subjects import Node, Program

SYSTEM_USER = "www-data"


class Nginx(Engine):
    name: ClassVar[str] = "nginx"
    packages: ClassVar[Packages] = Packages(
        debian=(
            *("nginx", "libnginx-mod-http-lua", "lua-resty-core", "lua-resty-lrucache", "lua-cjson"),
            *("libnginx-mod-http-brotli-static", "libnginx-mod-http-modsecurity", "modsecurity-crs"),
        )
    )
    ports: ClassVar[Ports] = Ports(("edge", "edge_tls"))
    required_by: ClassVar[tuple[str, ...]] = ("node",)
    documentation: ClassVar[Documentation] = Documentation(
        title="nginx on a node",
        purpose="serving sites",
        product="nginx",
        reason="the only server that provides static files, FastCGI, a cache with tags, a firewall and TLS by"
        " name in one process, and can be changed over a socket without a reload (decision 0012)",
        production="the same, on every node",
        development="Debian `nginx` with its Lua, Brotli and ModSecurity modules, `lua-resty-core`,"
        " `lua-resty-lrucache`, `lua-cjson` and `modsecurity-crs`, as `steadctl edge` runs it",
        when_down="the sites of other nodes; after a restart it receives all records within seconds, and"
        ' answers `503` meanwhile, never "unknown"',
    )

    def __init__(self, instance: Instance, peers: Peers) -> None:
        super().__init__(instance, peers)
        data = node_home(instance.data)
        self.settings = EdgeSettings(
            node_id=LOCAL_NODE,
            data=str(data),
            run=str(data / "run"),
            http=(f"{LOOPBACK}:{self.port}",),
            https=(f"{LOOPBACK}:{self.tls_port}",),
            https_port=self.tls_port,
            # The workers read files that customers wrote, so they must not run as root.
            user=SYSTEM_USER if os.geteuid() == 0 else "",
            workers=1,
            connections=1024,
            memory=SharedMemory(records=32, redirects=32, certificates=16, pages=8),
            cache=64,
        )

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def tls_port(self) -> int:
        return self.instance.ports["edge_tls"]

    def control_settings(self, program: Program) -> dict[str, str]:
        return {"STEAD_EDGE_ADDRESSES": LOOPBACK} if program is Program.WORKER else {}

    def node_settings(self, node: Node) -> dict[str, str]:
        del node
        return {"STEAD_EDGE_ADDRESS": self.address}

    def shell_variables(self) -> dict[str, str]:
        return {"STEAD_EDGE": f"http://{self.address}", "STEAD_EDGE_TLS": f"{LOOPBACK}:{self.tls_port}"}

    def find_executable(self) -> Path:
        # Debian installs nginx into a directory that is only in root's PATH.
        return edge.NGINX if edge.NGINX.exists() else self.locate("nginx")

    async def read_version(self) -> str:
        # nginx prints its version to stderr.
        completed = await run([str(self.find_executable()), "-v"])
        return completed.errors.strip().rpartition("/")[2]

    async def prepare(self) -> None:
        await super().prepare()
        self._write_configuration()

    def _write_configuration(self) -> None:
        data = Path(self.settings.data)
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o711)
        edge.prepare(self.settings)
        end_leftovers(self.settings)

    def command(self) -> list[str]:
        return edge.argv(self.settings, str(self.find_executable()))

    def clean_up(self) -> None:
        # A killed nginx leaves its sockets behind, and the next one cannot listen on them.
        end_leftovers(self.settings)

    async def is_ready(self) -> bool:
        return (await probes.read_line(self.port, b"GET / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.")
