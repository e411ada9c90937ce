"""Runs the scheduled events of WordPress environments, also of those that sleep.

Runs are requests to the PHP of the environment, so its own limits apply. A run that takes long leaves its
place to others after a few seconds, and its environment shares two places with other slow ones from then on:
no site waits for the long events of another.
"""

import asyncio
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import structlog

from stead.node.containers.limits import ContainerFailed
from stead.node.hosting.environment import HostedEnvironment, NodeBusy
from stead.node.wordpress import fastcgi_client
from stead.node.wordpress.cron_schedule import CronSchedule
from stead.node.wordpress.fastcgi_client import platform_parameters
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.site_log import write_to_log

TICK_SECONDS = 2.0
FAST_AT_ONCE, SLOW_AT_ONCE = 4, 2
FAST_SECONDS = 10.0
RUN_SECONDS = 310.0
"""PHP-FPM ends a request after 300 seconds."""
SCRIPT = "/run/stead/platform/cron.php"

log = structlog.get_logger()

_DONE = re.compile(rb'\{"done":true,"run":(\d+),"failed":(\d+)\}\s*$')
_BUSY = re.compile(rb'\{"busy":true\}\s*$')


class CronRunner:
    """`list_urls` returns the URLs of all environments."""

    def __init__(
        self,
        schedule: CronSchedule,
        list_urls: Callable[[], Mapping[str, str]],
        find: Callable[[str], HostedEnvironment | None],
        paths: Callable[[str], EnvironmentPaths],
    ) -> None:
        self._schedule = schedule
        self._list_urls, self._find, self._paths = list_urls, find, paths
        self._fast, self._slow = asyncio.Semaphore(FAST_AT_ONCE), asyncio.Semaphore(SLOW_AT_ONCE)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Runs until it is cancelled."""
        try:
            while True:
                self._start_due()
                self._save()
                await asyncio.sleep(TICK_SECONDS)
        finally:
            for task in self._running.values():
                task.cancel()
            if self._running:
                await asyncio.wait(self._running.values())
            self._save()

    def _save(self) -> None:
        try:
            self._schedule.save()
        except sqlite3.Error as error:
            # Events are run nevertheless; it is tried again.
            log.warning("cron.not_saved", error=type(error).__name__)

    def _start_due(self) -> None:
        now, due = time.time(), []
        for name, url in self._list_urls().items():
            hosted = self._find(name)
            if hosted is None or hosted.state == "suspended" or name in self._running:
                continue
            state = self._schedule.get(name)
            moment = state.due_at(name, asleep=hosted.state != "awake")
            if moment <= now:
                due.append((moment, name, url, hosted, state.slow))
        for _, name, url, hosted, slow in sorted(due, key=lambda each: each[:2]):
            self._running[name] = asyncio.create_task(self._run_one(name, url, hosted, slow))

    async def _run_one(self, name: str, url: str, hosted: HostedEnvironment, slow: bool) -> None:
        try:
            async with self._place(slow):
                # It may have been removed while it waited.
                if self._find(name) is hosted:
                    await self._run_events(name, url, hosted)
        finally:
            del self._running[name]

    async def _run_events(self, name: str, url: str, hosted: HostedEnvironment) -> None:
        began, failure = time.time(), ""
        parameters = platform_parameters(SCRIPT, "/wp-cron.php", url)
        self._schedule.note_start(name, began)
        try:
            async with asyncio.timeout(RUN_SECONDS), hosted.use():
                failure = _failure(await fastcgi_client.request(self._paths(name).socket, parameters))
        except NodeBusy:
            self._schedule.postpone(name)
            return
        except TimeoutError:
            failure = "it took too long"
        except (ContainerFailed, fastcgi_client.RequestFailed, OSError) as error:
            failure = str(error) or type(error).__name__
        self._schedule.note_end(name, failed=bool(failure), slow=time.time() - began > FAST_SECONDS)
        if failure:
            log.info("cron.failed", environment=name, reason=failure)
            await write_to_log(self._paths(name), f"cron: events could not be run: {failure}")

    @asynccontextmanager
    async def _place(self, slow: bool) -> AsyncIterator[None]:
        """Wait for a place. A fast one is given up after a few seconds."""
        places = self._slow if slow else self._fast
        await places.acquire()
        released = False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                places.release()

        timer = None if slow else asyncio.get_running_loop().call_later(FAST_SECONDS, release)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            release()


def _failure(response: bytes) -> str:
    """Empty if the run has ended as it should. A failed event is no failure of the run: PHP has logged it."""
    if _DONE.search(response) or _BUSY.search(response):
        return ""
    return "PHP ended before all events were run"
