"""The list of attempts, and what several of them need."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncssh

from tests.node.ssh.gateway_node import GatewayNode, Key, make_key, new_source

Attempt = Callable[[GatewayNode], Awaitable[bool]]
REGISTERED: dict[str, Attempt] = {}
LOGIN_ERRORS = (asyncssh.Error, OSError)


def attempt(name: str) -> Callable[[Attempt], Attempt]:
    def add(function: Attempt) -> Attempt:
        REGISTERED[name] = function
        return function

    return add


@asynccontextmanager
async def connected(gateway: GatewayNode, **options: Any) -> AsyncIterator[asyncssh.SSHClientConnection]:
    chosen: dict[str, Any] = {
        "username": gateway.user,
        "client_keys": [str(gateway.key.file)],
        "known_hosts": str(gateway.home / "known_hosts"),
        "local_addr": (new_source(), 0),
        "config": [],
        "agent_path": None,
        "gss_host": None,
        **options,
    }
    async with asyncssh.connect("127.0.0.1", gateway.port, **chosen) as connection:
        yield connection


def resident_mb(gateway: GatewayNode) -> int:
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    return next(int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmRSS:"))


def new_key(gateway: GatewayNode, name: str, *options: str) -> Key:
    file = gateway.home / name
    return Key(file) if file.exists() else make_key(gateway.home, name, *options)
