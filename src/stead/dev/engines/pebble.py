"""Pebble: an ACME certificate authority for development."""

import datetime
import ssl
from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.debian import read_package_version
from stead.dev.engine import Documentation, Engine
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.resolver import Resolver
from stead.dev.files import write_json, write_private
from stead.dev.packages import Packages
from stead.dev.self_signed import create_certificate
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

PACKAGE = "pebble"


class Pebble(Engine):
    """Keeps nothing: accounts, orders and its own roots are new at every start."""

    name: ClassVar[str] = "pebble"
    packages: ClassVar[Packages] = Packages(debian=(PACKAGE,))
    ports: ClassVar[Ports] = Ports(("acme", "acme_management"))
    depends_on: ClassVar[tuple[str, ...]] = ("resolver",)
    documentation: ClassVar[Documentation] = Documentation(
        title="the certificate authority",
        purpose="certificates",
        product="any ACME authority",
        reason="the protocol of every public authority",
        production="Let's Encrypt or another authority",
        development="Debian `pebble`",
        when_down="everything; certificates are renewed when a third of their lifetime remains, and new"
        " domains wait and show the reason",
    )

    @property
    def directory(self) -> str:
        return f"https://{LOOPBACK}:{self.port}/dir"

    @property
    def _management_address(self) -> str:
        return f"{LOOPBACK}:{self.instance.ports['acme_management']}"

    @property
    def roots_url(self) -> str:
        """The URL of the root certificate that signs what Pebble issues."""
        return f"https://{self._management_address}/roots/0"

    @property
    def server_certificate(self) -> Path:
        """The self-signed certificate of Pebble's own HTTPS address, which clients must trust."""
        return self.instance.home / "pebble.crt"

    def control_settings(self, program: Program) -> dict[str, str]:
        if program is not Program.WORKER:
            return {}
        return {
            "STEAD_ACME_DIRECTORY": self.directory,
            "STEAD_ACME_EMAIL": "you@stead.example",
            "STEAD_ACME_CA_FILE": str(self.server_certificate),
            # Pebble has no limits.
            "STEAD_ACME_ORDERS_PER_OWNER": "0",
        }

    def find_executable(self) -> Path:
        return self.locate("pebble")

    async def read_version(self) -> str:
        return await read_package_version(PACKAGE)

    @property
    def _config_file(self) -> Path:
        return self.instance.home / "pebble.json"

    async def prepare(self) -> None:
        await super().prepare()
        key = self.instance.home / "pebble.key"
        if not (self.server_certificate.exists() and key.exists()):
            certificate, private_key = create_certificate("Pebble on this machine")
            write_private(key, private_key)
            write_private(self.server_certificate, certificate)
        # Pebble checks domains on the port of the edge.
        http_port = self.peers[Nginx].port
        config = {
            "listenAddress": f"{LOOPBACK}:{self.port}",
            "managementListenAddress": self._management_address,
            "certificate": str(self.server_certificate),
            "privateKey": str(key),
            "httpPort": http_port,
            "tlsPort": http_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": False,
            "certificateValidityPeriod": int(datetime.timedelta(days=90).total_seconds()),
            "domainBlocklist": ["blocked.stead.example"],
        }
        write_json(self._config_file, {"pebble": config})

    def command(self) -> list[str]:
        resolver = self.peers[Resolver].address
        return [str(self.find_executable()), "-config", str(self._config_file), "-dnsserver", resolver]

    def process_environment(self) -> dict[str, str]:
        """Disables Pebble's artificial delays. It still refuses nonces at random, as clients must expect."""
        return {"PEBBLE_VA_NOSLEEP": "1"}

    async def is_ready(self) -> bool:
        context = ssl.create_default_context(cafile=str(self.server_certificate))
        return await probes.http_ok(self.port, "/dir", tls=context)
