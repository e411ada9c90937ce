"""Attempts to use up places: channels, signals, tunnels, connections, guesses."""

import asyncio
from contextlib import suppress

import asyncssh

from stead.node.ssh.gateway.address_limits import UNAUTHENTICATED_PER_ADDRESS
from stead.node.ssh.site_programs import TUNNELS
from tests.node.harness import until
from tests.node.ssh.attempts.registry import attempt, connected, new_key
from tests.node.ssh.gateway_node import GatewayNode, new_source
from tests.patience import time_limit


@attempt("open a hundred channels")
async def _(gateway: GatewayNode) -> bool:
    opened, most = [], 0
    async with connected(gateway) as connection:
        for _number in range(100):
            try:
                channel, _session = await connection.create_session(
                    asyncssh.SSHClientSession, "sleep 30", encoding=None
                )
            except asyncssh.ChannelOpenError:
                continue
            opened.append(channel)
            # A site runs fewer programs than that. The channels of the others are closed, and free again.
            most = max(most, sum(not each.is_closing() for each in opened))
        return most > 10


@attempt("flood a program with signals")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        process = await connection.create_process("trap : USR1; echo begun; while :; do sleep 1; done")
        await process.stdout.readline()
        for _number in range(5000):
            process.send_signal("USR1")
        process.kill()
        try:
            # Nothing waits for the others.
            async with time_limit(5):
                await process.wait()
        except TimeoutError:
            return True
    return False


@attempt("open many tunnels to the database")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:

        async def open_one() -> asyncssh.SSHWriter[bytes] | None:
            with suppress(asyncssh.ChannelOpenError):
                return (await connection.open_connection("db", 3306, encoding=None))[1]
            return None

        opened = [writer for _number in range(8) if (writer := await open_one())]
        # MariaDB closes connections that do not sign in, and their places are free again.
        at_once = sum(not writer.is_closing() for writer in opened)
        for writer in opened:
            writer.close()
            await writer.wait_closed()
        # Places of tunnels that were closed become free again.
        (await until(open_one)).close()
    return at_once > TUNNELS


@attempt("open forty connections from one address")
async def _(gateway: GatewayNode) -> bool:
    source = new_source()
    opened: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    try:
        for _number in range(40):
            with suppress(OSError):
                opened.append(
                    await asyncio.open_connection("127.0.0.1", gateway.port, local_addr=(source, 0))
                )
                # The greeting, or the end.
                await opened[-1][0].read(4)
        # On a busy machine the first ones may be closed already, because nobody signed in.
        at_once = sum(await asyncio.gather(*(_is_open(reader) for reader, _ in opened)))
        # Nobody else notices.
        works = (await gateway.ssh("echo works")).out == b"works\n"
        return at_once > UNAUTHENTICATED_PER_ADDRESS or not works
    finally:
        for _, writer in opened:
            writer.close()


async def _is_open(reader: asyncio.StreamReader) -> bool:
    """Whether the server keeps the connection open after its greeting."""
    try:
        async with asyncio.timeout(1):
            while await reader.read(1000):
                pass
    except TimeoutError:
        return True
    except OSError:
        pass
    return False


@attempt("guess until somebody opens")
async def _(gateway: GatewayNode) -> bool:
    source = new_source()
    stranger = new_key(gateway, "stranger")
    for _number in range(21):
        await gateway.ssh("true", key=stranger, source=source)
    # Then not even the owner gets in from there, and from elsewhere as before.
    refused = (await gateway.ssh("true", source=source)).code == 255
    return not refused or (await gateway.ssh("true")).code != 0
