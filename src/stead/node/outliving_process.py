"""A program that outlives the agent that has started it, and is found by the next one."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from stead.node.leftovers import is_zombie
from stead.node.process_end import wait_until_ended


class OutlivingProcess:
    """The program writes its number into `pid_file`. The number may belong to another process by now, so
    `is_ours` decides by the command line."""

    def __init__(self, pid_file: Path, is_ours: Callable[[bytes], bool]) -> None:
        self.pid_file, self._is_ours = pid_file, is_ours
        self._child: subprocess.Popen[bytes] | None = None

    def find(self) -> int | None:
        if self._child is not None and self._child.poll() is not None:
            self._child = None
        if self._child is not None:
            return self._child.pid
        try:
            pid = int(self.pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if self._is_ours(command) and not is_zombie(pid) else None

    def start(self, argv: Sequence[str], output: IO[bytes]) -> None:
        self._child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            # Signals to the agent's group do not reach it.
            start_new_session=True,
        )

    async def end(self, seconds: float) -> None:
        """Let it end by itself for so long, then kill it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if (pid := self.find()) is not None:
                os.kill(pid, number)
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await wait_until_ended(pid)
        self.find()
