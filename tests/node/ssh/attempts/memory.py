"""Attempts to fill the memory of the gateway."""

import asyncio
from collections.abc import Callable

import asyncssh
from asyncssh.packet import Boolean, String

from tests.node.ssh.attempts.registry import attempt, connected, resident_mb
from tests.node.ssh.gateway_node import GatewayNode
from tests.patience import time_limit


@attempt("fill the memory by not reading")
async def _(gateway: GatewayNode) -> bool:
    return await _fills_memory(gateway, lambda connection: connection._transport.pause_reading())  # type: ignore[union-attr]


@attempt("fill the memory by not finishing a key exchange")
async def _(gateway: GatewayNode) -> bool:
    return await _fills_memory(gateway, begin_key_exchange_and_stop)


async def _fills_memory(gateway: GatewayNode, stop: Callable[[asyncssh.SSHClientConnection], None]) -> bool:
    """Whether a client that stops, while a program writes without an end, makes the gateway keep it all."""
    before = resident_mb(gateway)
    async with connected(gateway) as connection:
        # With a window of 2 GB, SSH itself would let the server send all of it.
        await connection.create_process("cat /dev/zero", encoding=None, window=0x7FFFFFFF)
        stop(connection)
        await asyncio.sleep(3)
        grown = resident_mb(gateway) - before
        works = (await gateway.ssh("echo works")).out == b"works\n"
        connection.abort()
    return grown > 64 or not works


@attempt("fill the memory with requests during a key exchange")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        send = connection.send_packet
        begin_key_exchange_and_stop(connection)
        connection._kex_complete = True  # what is sent is not kept here
        for _number in range(5000):
            send(asyncssh.constants.MSG_GLOBAL_REQUEST, String(b"x"), Boolean(True))
        try:
            async with time_limit(15):
                await connection.wait_closed()
        except TimeoutError:
            connection.abort()
            return True
    return False


def begin_key_exchange_and_stop(connection: asyncssh.SSHClientConnection) -> None:
    answers = {asyncssh.constants.MSG_KEXINIT: lambda *_: None}
    connection._packet_handlers = {**connection._packet_handlers, **answers}
    connection._send_kexinit()


@attempt("fill the memory by sending what nobody reads")
async def _(gateway: GatewayNode) -> bool:
    before = resident_mb(gateway)
    async with connected(gateway) as connection:
        process = await connection.create_process("sleep 30", encoding=None)
        if process.channel._send_window > 256 << 10:
            return True
        process.stdin.write(b"x" * 50_000_000)
        await asyncio.sleep(3)
        grown = resident_mb(gateway) - before
        connection.abort()
    return grown > 64
