"""The logs of a stack on the terminal: the end of each, and what comes after."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

Write = Callable[[str], None]

POLL = 0.2


def show(logs: Iterable[Path], lines: int, write: Write) -> None:
    for log in logs:
        with log.open(errors="replace") as file:
            for line in deque(file, maxlen=lines):
                write(_labelled(log, line))


def follow(logs: Iterable[Path], write: Write) -> None:
    """Never returns; the person ends it."""
    places = {log: log.stat().st_size for log in logs}
    while True:
        for log in places:
            places[log] = _since(log, places[log], write)
        time.sleep(POLL)


def _since(log: Path, place: int, write: Write) -> int:
    """Writes what was added after the place; returns the new one. A shorter file is a new file."""
    if not log.exists():
        return 0
    size = log.stat().st_size
    if size == place:
        return place
    with log.open("rb") as file:
        file.seek(place if size > place else 0)
        for line in file.read().decode(errors="replace").splitlines(keepends=True):
            write(_labelled(log, line))
        return file.tell()


def _labelled(log: Path, line: str) -> str:
    return f"{log.stem:<10} {line.rstrip()}"
