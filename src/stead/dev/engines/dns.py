"""The DNS server of a development stack: every name resolves to this machine."""

from pathlib import Path
from typing import ClassVar

import dns.message

from stead.dev import probes
from stead.dev.debian import read_package_version
from stead.dev.engine import Documentation, Engine
from stead.dev.packages import Packages
from stead.dev.supervised_program import LOOPBACK, Ports

PACKAGE = "pebble"


class LoopbackDns(Engine):
    """Pebble's test DNS server. It answers every address query with 127.0.0.1. Answers for single names can
    be set over its management port, and are lost when it stops."""

    name: ClassVar[str] = "dns"
    packages: ClassVar[Packages] = Packages(debian=(PACKAGE,))
    ports: ClassVar[Ports] = Ports(("dns", "dns_management"))
    documentation: ClassVar[Documentation] = Documentation(
        title="the DNS of made-up names",
        purpose="development only: every name resolves to 127.0.0.1",
        product="the test server of Pebble",
        reason="domains that nobody has registered work too",
        production="nothing: there is the public DNS",
        development="Debian `pebble`",
        when_down="everything; new domains wait and show the reason",
    )

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def _management_address(self) -> str:
        return f"{LOOPBACK}:{self.instance.ports['dns_management']}"

    @property
    def management_url(self) -> str:
        return f"http://{self._management_address}"

    def find_executable(self) -> Path:
        return self.locate("pebble-challtestsrv")

    async def read_version(self) -> str:
        return await read_package_version(PACKAGE)

    def command(self) -> list[str]:
        return [
            *(str(self.find_executable()), "-dns01", self.address, "-management", self._management_address),
            *("-defaultIPv4", LOOPBACK, "-defaultIPv6", ""),
            *("-http01", "", "-https01", "", "-tlsalpn01", ""),
        ]

    async def is_ready(self) -> bool:
        return await answers_queries(self.port)


async def answers_queries(port: int) -> bool:
    query = dns.message.make_query("stead.example.", "A").to_wire()
    length = await probes.read_bytes(port, len(query).to_bytes(2, "big") + query, 2)
    return len(length) == 2
