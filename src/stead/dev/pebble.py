"""Pebble: a certificate authority for development, and the DNS in which every name leads to this machine."""

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import ClassVar

import dns.message
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stead.dev import probe
from stead.dev.engine import LOOPBACK, Engine, Place, Ports, find_program
from stead.dev.files import write_json, write_private
from stead.dev.process import run

REMEDY = "apt-get install pebble"
PACKAGE = "pebble"
LIFE = datetime.timedelta(days=3650)


class Challtestsrv(Engine):
    """Answers every question for an address with ours. What it is told of single names it forgets."""

    name: ClassVar[str] = "dns"
    ports: ClassVar[Ports] = Ports(("dns", "dns_management"))

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def management_url(self) -> str:
        return f"http://{LOOPBACK}:{self.place.ports['dns_management']}"

    def program(self) -> Path:
        return find_program("pebble-challtestsrv", REMEDY)

    async def version(self) -> str:
        return await _packaged()

    def argv(self) -> list[str]:
        return [
            *(str(self.program()), "-dns01", self.address),
            *("-management", f"{LOOPBACK}:{self.place.ports['dns_management']}"),
            *("-defaultIPv4", LOOPBACK, "-defaultIPv6", ""),
            *("-http01", "", "-https01", "", "-tlsalpn01", ""),
        ]

    async def ready(self) -> bool:
        asked = dns.message.make_query("stead.example.", "A").to_wire()
        answer = await probe.exactly(self.port, len(asked).to_bytes(2, "big") + asked, 2)
        return len(answer) == 2


class Pebble(Engine):
    """It keeps nothing: accounts, orders and its own roots are new at every start."""

    name: ClassVar[str] = "pebble"
    ports: ClassVar[Ports] = Ports(("acme", "acme_management"))
    needs: ClassVar[tuple[str, ...]] = ("dns",)

    def __init__(self, place: Place, *, http_port: int, resolver: str) -> None:
        super().__init__(place)
        self._http_port, self._resolver = http_port, resolver

    @property
    def directory(self) -> str:
        return f"https://{LOOPBACK}:{self.port}/dir"

    @property
    def roots_url(self) -> str:
        """Where the root of what it issues is found."""
        return f"https://{LOOPBACK}:{self.place.ports['acme_management']}/roots/0"

    @property
    def trust(self) -> Path:
        """What its own address is certified by."""
        return self.place.home / "pebble.crt"

    def program(self) -> Path:
        return find_program("pebble", REMEDY)

    async def version(self) -> str:
        return await _packaged()

    @property
    def _config_file(self) -> Path:
        return self.place.home / "pebble.json"

    async def prepare(self) -> None:
        await super().prepare()
        key = self.place.home / "pebble.key"
        if not (self.trust.exists() and key.exists()):
            certificate, private = _certified()
            write_private(key, private)
            write_private(self.trust, certificate)
        config = {
            "listenAddress": f"{LOOPBACK}:{self.port}",
            "managementListenAddress": f"{LOOPBACK}:{self.place.ports['acme_management']}",
            "certificate": str(self.trust),
            "privateKey": str(key),
            "httpPort": self._http_port,
            "tlsPort": self._http_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": False,
            "certificateValidityPeriod": int(datetime.timedelta(days=90).total_seconds()),
            "domainBlocklist": ["blocked.stead.example"],
        }
        write_json(self._config_file, {"pebble": config})

    def argv(self) -> list[str]:
        return [str(self.program()), "-config", str(self._config_file), "-dnsserver", self._resolver]

    def env(self) -> dict[str, str]:
        """Without its pauses, but with the nonces that it refuses by chance."""
        return {"PEBBLE_VA_NOSLEEP": "1"}

    async def ready(self) -> bool:
        trusted = ssl.create_default_context(cafile=str(self.trust))
        return await probe.http_ok(self.port, "/dir", tls=trusted)


async def _packaged() -> str:
    """Neither program tells its version; the package does."""
    said = await run(["/usr/bin/dpkg-query", "--show", "--showformat=${Version}", PACKAGE])
    return said.output.strip() or "0"


def _certified() -> tuple[bytes, bytes]:
    """A certificate for loopback that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pebble of this machine")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + LIFE)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private
