"""Runs a PHP script of the platform once, in a container of its own that sees the site as PHP does."""

import asyncio
from dataclasses import dataclass

from stead.node.containers.bundle import BindMount
from stead.node.containers.runc import Runc, new_container
from stead.node.processes import StreamName
from stead.node.wordpress.configuration_files import TEMPLATES, request_memory_mb
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.program_files import prepared

PART = "probe"
"""The directory of a plan whose container is not that of the environment."""
MAX_SECONDS = 60.0
_MAX_BYTES = 64 << 10


@dataclass(frozen=True)
class ScriptEnd:
    code: int
    lines: tuple[str, ...]
    """What it printed, and then what is in its log, cut at a limit. Both arrive in any order."""
    killed_for_memory: bool


async def run_script(
    plan: WordPressPlan, runc: Runc, script: str, *arguments: str, mounts: tuple[BindMount, ...] = ()
) -> ScriptEnd:
    """`plan` must be one of its own, with `PART`. Raises TimeoutError."""
    printed: dict[StreamName, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    async def collect(stream: StreamName, data: bytes) -> None:
        printed[stream].extend(data[: _MAX_BYTES - len(printed[stream])])

    async with prepared(plan):
        container = new_container(f"{plan.container.name}-", plan.paths.memory)
        memory_mb = request_memory_mb(plan.desired.spec)
        options = ("-d", "display_errors=0", "-d", f"memory_limit={memory_mb}M")
        place = f"/run/stead/{script}"
        configuration = plan.configure(
            ("/usr/local/bin/php", *options, place, *arguments),
            {},
            BindMount(TEMPLATES / script, place),
            *mounts,
            cgroup=container.cgroup,
        )
        async with asyncio.timeout(MAX_SECONDS):
            code = await runc.run(container, configuration, collect)
    lines = [line for each in printed.values() for line in each.decode(errors="replace").strip().splitlines()]
    return ScriptEnd(code, tuple(lines), bool(container.limit_events.killed_for_memory))
