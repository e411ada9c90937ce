"""`steadctl dev` as a user runs it, in a separate process."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stead.dev.data_directory import DataDirectory, StackRecord
from stead.dev.process_identity import ProcessId
from stead.dev.stack import ALL_PROGRAMS

BOUND = 90.0
NAMES = [kind.name for kind in ALL_PROGRAMS]


def argv(data: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "stead.steadctl", "dev", *words, "--data", str(data)]


def dev(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv(data, *words), capture_output=True, text=True, timeout=BOUND, check=False)


class Up:
    """A `steadctl dev up` whose output is read line by line."""

    def __init__(self, data: Path, only: Sequence[str] = ()) -> None:
        words = [word for name in only for word in ("--only", name)]
        self.data, self.lines = data, list[str]()
        self.process = subprocess.Popen(argv(data, "up", *words), stdout=subprocess.PIPE, text=True)

    def until(self, *texts: str) -> str:
        """Reads until a line contains all of these texts, and returns it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if all(text in line for text in texts):
                return line
        raise AssertionError(f"{texts} was never printed: {''.join(self.lines)}")

    def record(self) -> StackRecord:
        return DataDirectory(self.data).load_record()

    def processes(self) -> list[ProcessId]:
        return [it.process for it in self.record().children if it.process is not None]

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)
        return self.process.wait(BOUND)


@contextmanager
def up(data: Path, only: Sequence[str] = ()) -> Iterator[Up]:
    running = Up(data, only)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.interrupt()
        assert running.process.stdout is not None
        running.process.stdout.close()


def curl_line(lines: Sequence[str]) -> list[str]:
    (line,) = (line for line in lines if line.startswith("curl "))
    return shlex.split(line)
