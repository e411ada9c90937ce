"""SFTP through the gateway, compared with OpenSSH's own server in front of the same container.

`STEAD_BENCH_MB` is the size of the file.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import msgspec

from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.dev.ports import reserve_ports
from stead.node.containers.runc import new_container
from stead.node.ssh.messages import Start
from stead.node.ssh.session_container import session_configuration
from tests.node.harness import until
from tests.node.ssh.gateway_node import GatewayNode, make_key, run, start_gateway_node

MEGABYTES, ROUNDS = 200, 3
MB = 1 << 20
SSHD = "/usr/sbin/sshd"
PLACE = "wp-content/uploads/bench.bin"


async def compare_transfers(_: Bench) -> Result:
    """The time to store a file and to fetch it, in relation to the same client with OpenSSH's server."""
    if shutil.which("runc") is None or not os.path.exists(SSHD):  # noqa: PTH110, ASYNC240
        raise CouldNotRun("runc or openssh-server is not installed")
    megabytes = int(os.environ.get("STEAD_BENCH_MB", MEGABYTES))
    with tempfile.TemporaryDirectory(prefix="stead-sftp-") as place:
        home = Path(place)
        (home / "sent").write_bytes(os.urandom(MB) * megabytes)
        async with start_gateway_node(home, disk_mb=4 * megabytes) as gateway, _sshd(gateway) as port:
            ours, theirs = [], []
            for _round in range(ROUNDS):
                theirs.append(await _transfer(gateway, port, home))
                ours.append(await _transfer(gateway, gateway.port, home))
    ratio = median(ours) / median(theirs)
    details = [
        f"through the gateway: {spread([2 * megabytes / seconds for seconds in ours])} MB/s",
        f"through OpenSSH: {spread([2 * megabytes / seconds for seconds in theirs])} MB/s",
    ]
    return Result(ratio, 1.5, details)


async def _transfer(gateway: GatewayNode, port: int, home: Path) -> float:
    """The seconds to store and to fetch the file, with the start of the session."""
    known = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    argv = [
        "sftp",
        "-q",
        *known,
        *gateway.options(),
        "-P",
        str(port),
        "-b",
        "-",
        f"{_user(gateway, port)}@127.0.0.1",
    ]
    commands = f"put {home}/sent {PLACE}\nget {PLACE} {home}/fetched\n"
    began = time.perf_counter()
    done = await run(argv, commands.encode(), seconds=600)
    seconds = time.perf_counter() - began
    if done.code:
        raise CouldNotRun(done.err[-500:])
    return seconds


def _user(gateway: GatewayNode, port: int) -> str:
    return gateway.user if port == gateway.port else "root"


@asynccontextmanager
async def _sshd(gateway: GatewayNode) -> AsyncIterator[int]:
    """OpenSSH's server, which runs the container of a session for every client."""
    home = gateway.home / "sshd"
    home.mkdir()
    plan = await gateway.node.runtime.plan_program(gateway.site.environment)
    await plan.prepare()
    container = new_container(f"{plan.container.name}-", plan.paths.memory)
    container.bundle.mkdir(mode=0o700)
    made = session_configuration(plan, Start(0, "sftp"), container.cgroup)
    (container.bundle / "config.json").write_bytes(msgspec.json.encode(made))
    state = gateway.node.data / "hosting" / "runc-bench"
    script = home / "start"
    script.write_text(
        f"#!/bin/sh\nexec runc --root {state} run --bundle {container.bundle} {container.name}-$$\n"
    )
    script.chmod(0o755)
    keys = home / "authorized_keys"
    keys.write_text(gateway.key.file.with_suffix(".pub").read_text())
    (port,) = reserve_ports(1)
    lines = [
        *(f"HostKey {make_key(home, 'host').file}", f"AuthorizedKeysFile {keys}", f"ForceCommand {script}"),
        *("PermitRootLogin yes", "StrictModes no", "UsePAM no", "ListenAddress 127.0.0.1", f"Port {port}"),
        *("PidFile none", "Subsystem sftp internal-sftp", "Ciphers aes128-gcm@openssh.com"),
    ]
    (home / "config").write_text("\n".join(lines) + "\n")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # noqa: ASYNC240
    process = await asyncio.create_subprocess_exec(
        *(SSHD, "-D", "-e", "-f", str(home / "config")), stderr=asyncio.subprocess.DEVNULL
    )

    async def listens() -> bool | None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return None
        writer.close()
        return True

    try:
        await until(listens)
        yield port
    finally:
        process.terminate()
        await process.wait()
        shutil.rmtree(container.bundle)
