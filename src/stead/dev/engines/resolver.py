"""The DNS resolver of a development stack: it knows the zones of sites, and every other name."""

import sys
from pathlib import Path
from typing import ClassVar

from stead.dev.engine import Documentation, Engine
from stead.dev.engines.dns import LoopbackDns, answers_queries
from stead.dev.engines.powerdns import PowerDns
from stead.dev.packages import Packages
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program


class Resolver(Engine):
    """Asks PowerDNS, and for names that are in none of its zones the test server."""

    name: ClassVar[str] = "resolver"
    packages: ClassVar[Packages] = Packages()
    ports: ClassVar[Ports] = Ports(("resolver",))
    depends_on: ClassVar[tuple[str, ...]] = ("dns",)
    documentation: ClassVar[Documentation] = Documentation(
        title="the DNS resolver",
        purpose="looking up where a domain points",
        product="any DNS resolver",
        reason="certificates are requested only for domains that point to an edge",
        production="the system's resolver",
        development="a forwarder of ours: names in zones from PowerDNS, all others from the test server",
        when_down="everything; new domains wait and show the reason",
    )

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def control_settings(self, program: Program) -> dict[str, str]:
        return {"STEAD_DNS_RESOLVER": self.address} if program is Program.WORKER else {}

    def find_executable(self) -> Path:
        return Path(sys.executable)

    async def read_version(self) -> str:
        return sys.version.split()[0]

    def command(self) -> list[str]:
        zones = f"{LOOPBACK}:{self.peers[PowerDns].dns_port}"
        arguments = [self.address, zones, self.peers[LoopbackDns].address]
        return [str(self.find_executable()), "-m", "stead.dev.resolver", *arguments]

    async def is_ready(self) -> bool:
        return await answers_queries(self.port)
