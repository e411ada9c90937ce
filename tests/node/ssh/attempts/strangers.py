"""Attempts of somebody who never signs in."""

import asyncio
from collections.abc import Callable

import asyncssh
from asyncssh.packet import String

from stead.node.ssh.gateway.address_limits import FAILURES
from stead.node.ssh.gateway.server import MAX_REQUESTS
from tests.node.ssh.attempts.registry import LOGIN_ERRORS, attempt, connected
from tests.node.ssh.gateway_node import GatewayNode, new_source
from tests.patience import time_limit


class _Stranger(asyncssh.SSHClient):
    """Calls `act` instead of signing in."""

    def __init__(self, act: Callable[[asyncssh.SSHClientConnection], None]) -> None:
        self._act = act

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> None:  # noqa: ARG002
        connection = self._connection
        answers = {
            number: lambda *_: None
            for number in (asyncssh.constants.MSG_KEXINIT, asyncssh.constants.MSG_USERAUTH_FAILURE)
        }
        connection._packet_handlers = {**connection._packet_handlers, **answers}
        asyncio.get_running_loop().call_soon(self._act, connection)


async def _is_thrown_out(
    gateway: GatewayNode, act: Callable[[asyncssh.SSHClientConnection], None], source: str = ""
) -> bool:
    """Before the time to sign in is over."""
    try:
        async with (
            time_limit(10),
            connected(
                gateway,
                client_factory=lambda: _Stranger(act),
                local_addr=(source or new_source(), 0),
                client_keys=None,
            ),
        ):
            return False
    except TimeoutError:
        return False
    except LOGIN_ERRORS:
        return True


@attempt("exchange keys again and again without signing in")
async def _(gateway: GatewayNode) -> bool:
    return not await _is_thrown_out(gateway, lambda connection: connection._send_kexinit())


@attempt("ask again and again to be signed in")
async def _(gateway: GatewayNode) -> bool:
    def ask(connection: asyncssh.SSHClientConnection) -> None:
        for number in range(MAX_REQUESTS + 1):
            name, service, method = String(f"u{number}"), String(b"ssh-connection"), String(b"none")
            connection.send_packet(asyncssh.constants.MSG_USERAUTH_REQUEST, name, service, method)

    return not await _is_thrown_out(gateway, ask)


@attempt("exchange keys with many connections and leave")
async def _(gateway: GatewayNode) -> bool:
    source = new_source()
    for _number in range(FAILURES):
        await _is_thrown_out(gateway, lambda connection: connection.abort(), source)
    return (await gateway.ssh("true", source=source)).code == 0


@attempt("a packet of two gigabytes")
async def _(gateway: GatewayNode) -> bool:
    return await _stays_open(gateway, b"SSH-2.0-x\r\n" + b"\x7f\xff\xff\xff" + b"\0" * 100_000)


@attempt("a version without an end")
async def _(gateway: GatewayNode) -> bool:
    return await _stays_open(gateway, b"x" * 5_000_000)


async def _stays_open(gateway: GatewayNode, sent: bytes) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port, local_addr=(new_source(), 0))
    try:
        writer.write(sent)
        async with time_limit(15):
            while await reader.read(65536):
                continue
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        writer.close()
    return False
