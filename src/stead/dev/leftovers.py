"""What a supervisor that died could not stop: found by what it noted, and never mistaken for a stranger."""

import asyncio
import signal

from stead.dev.child import Condition
from stead.dev.directory import DataDirectory
from stead.dev.identity import ProcessId

GRACE = 10.0


async def sweep(directory: DataDirectory) -> list[str]:
    """Ends what is left of the last run; returns the names of what was found."""
    left = [
        child for child in directory.record().children if child.process is not None and child.process.alive()
    ]
    await asyncio.gather(*map(_end, left))
    return [child.name for child in left]


async def _end(child: Condition) -> None:
    if child.process is None:
        return
    # Its stop signal has been sent by the kernel when the supervisor died; this is for what did not heed it.
    for number in (signal.SIGINT, signal.SIGKILL):
        child.process.send(number)
        if await gone([child.process], GRACE):
            return


async def gone(processes: list[ProcessId], bound: float) -> bool:
    """Whether all of them ended within the bound."""
    try:
        async with asyncio.timeout(bound):
            await asyncio.gather(*(process.ended() for process in processes))
    except TimeoutError:
        return False
    return True
