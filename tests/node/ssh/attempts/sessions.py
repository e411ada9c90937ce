"""Attempts to set variables, and to start other subsystems."""

from contextlib import suppress

import asyncssh

from tests.node.ssh.attempts.registry import attempt, connected, resident_mb
from tests.node.ssh.gateway_node import GatewayNode


@attempt("set variables")
async def _(gateway: GatewayNode) -> bool:
    names = ("LD_PRELOAD", "BASH_ENV", "PHPRC", "WP_CLI_REQUIRE", "PATH", "HOME", "LC_ALL", "EGRESS_SOCKET")
    given = " ".join(f"{name}=/evil" for name in names)
    done = await gateway.ssh("env", extra=["-o", f"SetEnv={given}"])
    return b"/evil" in done.out or done.code != 0


@attempt("fill the memory with variables")
async def _(gateway: GatewayNode) -> bool:
    before = resident_mb(gateway)
    async with connected(gateway, env={f"V{n}": "x" * 30_000 for n in range(2000)}) as connection:
        await connection.run("true")
        return resident_mb(gateway) > before + 40


for _subsystem in ("netconf", "sftp-server", "/bin/sh", "shell", "sftp;id", "SFTP", "sftp "):

    @attempt(f"start the subsystem {_subsystem!r}")
    async def _(gateway: GatewayNode, subsystem: str = _subsystem) -> bool:
        async with connected(gateway) as connection:
            with suppress(asyncssh.ChannelOpenError):
                await connection.create_process(subsystem=subsystem)
                return True
        return False
