"""Attempts to forward connections, agents and displays."""

import os
from contextlib import suppress
from pathlib import Path

import asyncssh

from tests.node.ssh.attempts.registry import attempt, connected
from tests.node.ssh.gateway_node import GatewayNode, run
from tests.patience import time_limit


def _add_forwarding(name: str, host: str, port: int = 0) -> None:
    @attempt(f"forward to {name}")
    async def _(gateway: GatewayNode) -> bool:
        chosen = port or (gateway.port if name == "the gateway" else gateway.node.edge.port)
        async with connected(gateway) as connection:
            try:
                reader, _writer = await connection.open_connection(host, chosen, encoding=None)
            except asyncssh.ChannelOpenError:
                return False
            async with time_limit(10):
                return bool(await reader.read(1)) or True


for _name, _host, _port in (
    ("SSH of the node", "127.0.0.1", 22),
    ("the gateway", "127.0.0.1", 0),
    ("the edge", "127.0.0.1", 0),
    ("NATS", "127.0.0.1", 4222),
    ("metadata of a cloud", "169.254.169.254", 80),
    ("another port of the database", "db", 3307),
    ("a host that begins like the database", "db.example.com", 3306),
    ("any address", "0.0.0.0", 3306),  # noqa: S104
    ("another loopback address", "127.0.0.2", 3306),
    ("a name with a zero byte", "localhost\0.example.com", 3306),
    ("an empty name", "", 3306),
    ("the internet", "example.com", 80),
):
    _add_forwarding(_name, _host, _port)


@attempt("forward to the socket of the database")
async def _(gateway: GatewayNode) -> bool:
    return await _reaches_socket(gateway, gateway.node.databases.databases.socket)


@attempt("forward to the socket of the agent")
async def _(gateway: GatewayNode) -> bool:
    return await _reaches_socket(gateway, gateway.node.data / "ssh" / "agent.sock")


async def _reaches_socket(gateway: GatewayNode, path: Path) -> bool:
    async with connected(gateway) as connection:
        try:
            await connection.open_unix_connection(str(path))
        except asyncssh.ChannelOpenError:
            return False
        return True


@attempt("listen on the node")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        try:
            await connection.forward_remote_port("127.0.0.1", 0, "127.0.0.1", 9)
        except (asyncssh.ChannelListenError, OSError):
            return False
        return True


@attempt("listen on a socket of the node")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        with suppress(asyncssh.ChannelListenError, OSError):
            await connection.forward_remote_path("/tmp/stead-attempt.sock", "/nonexistent")  # noqa: S108
        return os.path.exists("/tmp/stead-attempt.sock")  # noqa: ASYNC240, PTH110, S108


@attempt("make a network tunnel")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        for kind in (connection.create_tun, connection.create_tap):
            with suppress(asyncssh.ChannelOpenError):
                await kind(asyncssh.SSHTunTapSession)
                return True
    return False


@attempt("forward an agent")
async def _(gateway: GatewayNode) -> bool:
    started = (await run(["ssh-agent", "-s"])).out.decode()
    found = dict(part.split("=", 1) for part in started.replace("\n", "").split(";") if "=" in part)
    try:
        argv = gateway.ssh_argv("echo x$SSH_AUTH_SOCK", extra=["-A"])
        done = await run(["env", f"SSH_AUTH_SOCK={found['SSH_AUTH_SOCK']}", *argv])
    finally:
        os.kill(int(found["SSH_AGENT_PID"]), 15)
    return done.out.strip() != b"x"


@attempt("forward X11")
async def _(gateway: GatewayNode) -> bool:
    argv = gateway.ssh_argv("echo x$DISPLAY", extra=["-X", "-o", "ForwardX11Trusted=yes"])
    return (await run(["env", "DISPLAY=:7", *argv])).out.strip() != b"x"
