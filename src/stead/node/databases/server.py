"""Starts the MariaDB server of a node, adopts the one that runs already, and restarts it when it ends."""

import asyncio
import os
import shutil
import time
from pathlib import Path
from typing import IO

import structlog

from stead.mariadb import connection, data_directory
from stead.mariadb.data_directory import ServerUnavailable
from stead.mariadb.server_settings import ServerSettings, argv
from stead.node.outliving_process import OutlivingProcess
from stead.node.process_end import wait_until_ended
from stead.node.uninterrupted import run_in_thread

EXECUTABLE = "mariadbd"
READY_SECONDS = 120.0
"""Recovery after a crash takes a while when there is much to recover."""
STOP_SECONDS = 60.0
FIRST_DELAY, LONGEST_DELAY = 0.2, 30.0
STABLE_SECONDS = 60.0
"""A server that ran this long is started again after the first delay."""
LOG_BYTES = 8 << 20
"""A larger log is moved away when the server starts; one older log is kept."""
_POLL_SECONDS = 0.1

log = structlog.get_logger()


class DatabaseServer:
    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        own = f"--datadir={settings.data}".encode()
        self._process = OutlivingProcess(settings.pid_file, lambda command: own in command.split(b"\0"))

    @property
    def socket(self) -> Path:
        return self.settings.socket

    @property
    def log(self) -> Path:
        return self.settings.home / "error.log"

    async def start(self) -> bool:
        """Return when the server answers; whether it had to be started. A server that runs already, started
        by an earlier agent, is adopted. Raises ServerUnavailable."""
        if started := self.find_process() is None:
            await run_in_thread(self._spawn)
        await self._wait_until_ready()
        return started

    async def stop(self) -> None:
        """End the server, which first writes what it has in memory."""
        await self._process.end(STOP_SECONDS)

    async def is_ready(self) -> bool:
        return await asyncio.to_thread(connection.answers, self.socket)

    async def keep_running(self) -> None:
        """Start the server, and start it again whenever it has ended. Never returns; cancel it. The server
        then still runs."""
        delay = FIRST_DELAY
        while True:
            began = time.monotonic()
            try:
                started = await self.start()
                log.info("databases.ready", started=started)
                if (pid := self.find_process()) is not None:
                    await wait_until_ended(pid)
                log.warning("databases.ended", retry_seconds=delay)
            except ServerUnavailable as error:
                log.error("databases.unavailable", reason=str(error), retry_seconds=delay)
            if time.monotonic() - began > STABLE_SECONDS:
                delay = FIRST_DELAY
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY)

    def find_process(self) -> int | None:
        return self._process.find()

    def _spawn(self) -> None:
        executable = shutil.which(EXECUTABLE, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if executable is None:
            raise ServerUnavailable(f"{EXECUTABLE} is not installed")
        data_directory.prepare(self.settings)
        self.settings.pid_file.unlink(missing_ok=True)
        with _open_log(self.log) as output:
            self._process.start(argv(self.settings, executable), output)

    async def _wait_until_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while not await self.is_ready():
            if self.find_process() is None:
                raise ServerUnavailable(f"{EXECUTABLE} ended: {_last_error(self.log)}")
            if time.monotonic() > until:
                raise ServerUnavailable(f"{EXECUTABLE} does not answer after {READY_SECONDS:g} s")
            await asyncio.sleep(_POLL_SECONDS)


def _open_log(path: Path) -> IO[bytes]:
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.rename(path.with_suffix(".log.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    return os.fdopen(descriptor, "ab")


def _last_error(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines()[-200:]
    except OSError:
        return "it has no log"
    errors = [line for line in lines if "[ERROR]" in line and "Aborting" not in line]
    return (errors or lines or ["no message"])[-1][-300:]
