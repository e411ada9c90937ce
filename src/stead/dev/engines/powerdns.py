"""PowerDNS: the name server of the zones of sites."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.debian import read_package_version
from stead.dev.engine import Documentation, Engine
from stead.dev.errors import DevError
from stead.dev.files import write_private
from stead.dev.packages import Packages
from stead.dev.secrets import Generator, random_password
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

PACKAGES = ("pdns-server", "pdns-backend-sqlite3")
SCHEMAS = (
    Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"),
    Path("/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"),
)


class PowerDns(Engine):
    name: ClassVar[str] = "powerdns"
    packages: ClassVar[Packages] = Packages(debian=PACKAGES)
    ports: ClassVar[Ports] = Ports(("powerdns_api", "powerdns"))
    secrets: ClassVar[Mapping[str, Generator]] = {"powerdns_key": random_password}
    documentation: ClassVar[Documentation] = Documentation(
        title="PowerDNS",
        purpose="the DNS zones of sites",
        product="PowerDNS Authoritative Server ≥ 4.7",
        reason="zones and DNSSEC over an HTTP API, and backends that replicate",
        production="two servers with the PostgreSQL or LMDB backend, in different networks",
        development="Debian `pdns-server` and `pdns-backend-sqlite3`, on private ports",
        when_down="everything but the zones of sites, if all name servers are down; changes of records wait",
    )

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def key(self) -> str:
        return self.instance.secrets["powerdns_key"]

    @property
    def dns_port(self) -> int:
        return self.instance.ports["powerdns"]

    def control_settings(self, program: Program) -> dict[str, str]:
        key = {"STEAD_POWERDNS_KEY": self.key} if program is Program.WORKER else {}
        return {"STEAD_POWERDNS_URL": self.url, **key}

    def find_executable(self) -> Path:
        return self.locate("pdns_server")

    async def read_version(self) -> str:
        return await read_package_version(PACKAGES[0])

    @property
    def _database(self) -> Path:
        return self.instance.home / "zones.sqlite3"

    async def prepare(self) -> None:
        await super().prepare()
        if not self._database.exists():
            _create_database(self._database)
        options = {
            "launch": "gsqlite3",
            "gsqlite3-database": self._database,
            "gsqlite3-dnssec": "yes",
            "gsqlite3-pragma-synchronous": 1 if self.instance.durable else 0,
            "local-address": LOOPBACK,
            "local-port": self.dns_port,
            "webserver": "yes",
            "webserver-address": LOOPBACK,
            "webserver-port": self.port,
            "webserver-allow-from": LOOPBACK,
            "api": "yes",
            # In a file, because every user of the machine can read command lines.
            "api-key": self.key,
            "socket-dir": self.instance.home,
            "guardian": "no",
            "daemon": "no",
            "disable-syslog": "yes",
            "cache-ttl": 1,
            "query-cache-ttl": 1,
            "negquery-cache-ttl": 1,
            "zone-cache-refresh-interval": 1,
        }
        lines = [f"{name}={value}\n" for name, value in options.items()]
        write_private(self.instance.home / "pdns.conf", "".join(lines).encode())

    def command(self) -> list[str]:
        return [str(self.find_executable()), f"--config-dir={self.instance.home}"]

    async def is_ready(self) -> bool:
        request = f"GET /api HTTP/1.0\r\nX-API-Key: {self.key}\r\n\r\n"
        return b" 200 " in await probes.read_line(self.port, request.encode())


def _create_database(path: Path) -> None:
    schema = next((each for each in SCHEMAS if each.exists()), None)
    if schema is None:
        raise DevError("the schema of PowerDNS is missing: reinstall pdns-backend-sqlite3")
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    connection = sqlite3.connect(unfinished)
    try:
        connection.executescript(schema.read_text())
    finally:
        connection.close()
    unfinished.rename(path)
