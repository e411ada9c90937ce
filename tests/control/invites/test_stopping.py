"""A process ends while a letter is under way, whatever the library that sends it makes of that."""

import asyncio
import contextlib

from stead.control.tasks import PeriodicTask, TaskRunner
from tests.patience import time_limit


async def test_housekeeping_stops_although_a_chore_missed_that_it_was_cancelled():
    """`asyncio.wait_for`, which the SMTP client waits with, loses a cancellation that meets an answer."""
    begun = asyncio.Event()

    async def send() -> None:
        if begun.is_set():
            await asyncio.sleep(60)
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    housekeeping = TaskRunner([PeriodicTask("mail.send", 0.001, send)])
    housekeeping.start()
    await begun.wait()
    async with time_limit(10):
        await housekeeping.stop()
