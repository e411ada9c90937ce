"""Attempts of programs in a session, and strange requests to start one."""

from contextlib import suppress

import asyncssh

from tests.node.ssh.attempts.registry import attempt, connected
from tests.node.ssh.gateway_node import GatewayNode


@attempt("reach the network of the node")
async def _(gateway: GatewayNode) -> bool:
    targets = f"127.0.0.1/{gateway.port}", f"127.0.0.1/{gateway.node.edge.port}", "1.1.1.1/80"
    done = await gateway.ssh("; ".join(f"echo > /dev/tcp/{each} && echo reached" for each in targets))
    return b"reached" in done.out


@attempt("become root, or see other processes")
async def _(gateway: GatewayNode) -> bool:
    done = await gateway.ssh(
        "id -u; kill -9 -1; ls /proc | grep -c '^[0-9]'; su -c id; mount -t tmpfs x /mnt && echo m"
    )
    return b"uid=0" in done.out or b"\nm\n" in done.out


@attempt("use all processes and all memory")
async def _(gateway: GatewayNode) -> bool:
    await gateway.ssh(
        "for i in $(seq 200); do sleep 60 & done; php -r 'str_repeat(1, 900 << 20);'; kill $(jobs -p)"
    )
    return (await gateway.site.get("/")).status_code != 200


@attempt("a command with a zero byte")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        with suppress(asyncssh.ChannelOpenError):
            await connection.create_process("id\0x")
            return True
    return False


@attempt("a command of 100 kB")
async def _(gateway: GatewayNode) -> bool:
    return (await gateway.ssh(f"true {'x' * 100_000}")).code == 0


@attempt("a terminal with a strange name and size")
async def _(gateway: GatewayNode) -> bool:
    async with connected(gateway) as connection:
        process = await connection.create_process(
            "echo $TERM.; stty size", term_type="../../evil", term_size=(0xFFFFFFFF, 0)
        )
        process.change_terminal_size(0, 0xFFFFFFFF)
        out, _err = await process.communicate()
    return "evil" in str(out) or "dumb." not in str(out)
