"""Stops processes that a killed supervisor could not stop."""

import asyncio
import signal

from stead.dev.child_process import ChildStatus
from stead.dev.data_directory import DataDirectory
from stead.dev.process_identity import ProcessId

GRACE_PERIOD = 10.0


async def stop_orphans(directory: DataDirectory) -> list[str]:
    """Stops what is left of the previous run, and returns the names of the programs it found."""
    children = directory.load_record().children
    orphans = [child for child in children if child.process is not None and child.process.is_alive()]
    await asyncio.gather(*map(_stop, orphans))
    return [child.name for child in orphans]


async def _stop(child: ChildStatus) -> None:
    if child.process is None:
        return
    # The kernel has already sent the stop signal when the supervisor died. These are for processes that
    # ignored it.
    for number in (signal.SIGINT, signal.SIGKILL):
        child.process.send_signal(number)
        if await all_exited([child.process], GRACE_PERIOD):
            return


async def all_exited(processes: list[ProcessId], seconds: float) -> bool:
    """Waits for the processes, and returns whether all of them exited in time."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(process.wait_until_exited() for process in processes))
    except TimeoutError:
        return False
    return True
