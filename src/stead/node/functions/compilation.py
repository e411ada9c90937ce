"""Compiles functions, in processes of the container."""

import asyncio
from pathlib import Path

from stead.node.functions import places
from stead.node.functions.container import user_of
from stead.node.functions.processes import FunctionProcesses, ProcessEnded
from stead.node.functions.served_version import FunctionRefused
from stead.node.functions.spec import FunctionSpec

COMPILE_SECONDS = 420.0


async def compile_version(processes: FunctionProcesses, data: Path, spec: FunctionSpec, slot: int) -> None:
    """Compile the function, unless that was done before. Raises FunctionRefused."""
    target = places.compiled(data, spec.version)
    if target.exists():
        return
    fresh = target.with_name(f".{target.name}")
    try:
        await _compile(processes, places.module_file(data, spec.release), fresh, slot)
        # Its processes get a descriptor of the file; nobody else can enter the directory.
        fresh.chmod(0o444)
        fresh.rename(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


async def _compile(processes: FunctionProcesses, source: Path, fresh: Path, slot: int) -> None:
    with source.open("rb") as module, fresh.open("wb") as made:
        process = await processes.start_compiler(user_of(slot), module.fileno(), made.fileno())
    try:
        async with asyncio.timeout(COMPILE_SECONDS):
            report = await process.receive()
    except (ProcessEnded, TimeoutError):
        raise FunctionRefused("the compiler ran out of time or memory") from None
    finally:
        processes.kill(process)
        process.close()
    if "failed" in report:
        raise FunctionRefused(f"it is not a valid function: {report.get('detail', '')}")
