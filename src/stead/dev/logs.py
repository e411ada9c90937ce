"""Prints the logs of a stack: the last lines of each, and new lines as they are written."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

Write = Callable[[str], None]

POLL_INTERVAL = 0.2


def print_tails(logs: Iterable[Path], lines: int, write: Write) -> None:
    for log in logs:
        with log.open(errors="replace") as file:
            for line in deque(file, maxlen=lines):
                write(_label(log, line))


def follow(logs: Iterable[Path], write: Write) -> None:
    """Never returns; the user interrupts it."""
    offsets = {log: log.stat().st_size for log in logs}
    while True:
        for log in offsets:
            offsets[log] = _print_new_lines(log, offsets[log], write)
        time.sleep(POLL_INTERVAL)


def _print_new_lines(log: Path, offset: int, write: Write) -> int:
    """Returns the new offset. A file that has become shorter is a new file."""
    if not log.exists():
        return 0
    size = log.stat().st_size
    if size == offset:
        return offset
    with log.open("rb") as file:
        file.seek(offset if size > offset else 0)
        for line in file.read().decode(errors="replace").splitlines(keepends=True):
            write(_label(log, line))
        return file.tell()


def _label(log: Path, line: str) -> str:
    return f"{log.stem:<10} {line.rstrip()}"
