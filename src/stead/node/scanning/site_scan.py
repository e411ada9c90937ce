"""Scans the files of one site: walks them, passes each to the scanner, and remembers which were clean.

Files belong to customers, who may change them meanwhile: directories and files are opened relative to their
directory, and links are never followed. Blocks; run it in a thread.
"""

import os
import socket
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from stead.node.scanning.child import MAX_BYTES_AT_ONCE, MAX_FILES_AT_ONCE, MESSAGE_BYTES, Start
from stead.node.scanning.paths import open_directory, to_text
from stead.node.scanning.verdicts import Hello, Request, Verdict
from stead.node.snapshots.tree_scan import MAX_DEPTH, MAX_FILES, Key, escape, unescape

ANSWER_SECONDS = 900.0
"""For one message of files, if each of them takes as long as it may."""
OUTSTANDING = 2
"""How many messages are sent before the first is answered."""
MAX_COLLECTED = 1000
"""Files of one message, with those that are unchanged."""
MAX_FINDINGS = 500
MAX_ATTEMPTS = 3
"""For a file that is changed while it is read."""
SETTLED_NS = 3_000_000_000
"""What was changed a moment before could be changed again at the same time, so it is not remembered."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOATIME
_CHANGED = "the file was changed while it was read"
_verdicts = msgspec.msgpack.Decoder(list[Verdict])
_Facts = tuple[int, int, int, int]


class EngineFailed(Exception):
    """An engine does not answer, so there is no result. Nothing follows from what was scanned so far."""


class ScanStopped(Exception):
    """Nobody needs the result any more."""


@dataclass(frozen=True)
class Root:
    """A directory to scan, and where it is in the site."""

    directory: Path
    prefix: str
    movable: bool = True
    """Whether an infected file may be moved away. The code of a release is never changed."""


class FileFinding(msgspec.Struct, frozen=True):
    path: str
    sha256: str
    signature: str
    engine: str
    detail: str = ""
    size: int = 0
    movable: bool = True


@dataclass
class FileReport:
    findings: list[FileFinding] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Files without a result, and why."""
    files: int = 0
    scanned: int = 0
    unchanged: int = 0
    bytes: int = 0
    omitted: int = 0
    """Findings beyond the limit."""


class ScannerChannel:
    """The agent's end of the socket to the scanner."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        channel.settimeout(ANSWER_SECONDS)

    def start(self, start: Start, rules: Path, known: Path) -> Hello:
        with rules.open("rb") as first, known.open("rb") as second:
            descriptors = [first.fileno(), second.fileno()]
            self._do(lambda: socket.send_fds(self._channel, [msgspec.msgpack.encode(start)], descriptors))
        hello = msgspec.msgpack.decode(self._receive(), type=Hello)
        if hello.error:
            raise EngineFailed(hello.error)
        return hello

    def send(self, requests: list[Request], descriptors: list[int]) -> None:
        data = msgspec.msgpack.encode(requests)
        self._do(lambda: socket.send_fds(self._channel, [data], descriptors))

    def receive(self) -> list[Verdict]:
        try:
            return _verdicts.decode(self._receive())
        except msgspec.MsgspecError:
            raise EngineFailed("the scanner has sent something that cannot be read") from None

    def _receive(self) -> bytes:
        data = self._do(lambda: self._channel.recv(MESSAGE_BYTES))
        if not data:
            raise EngineFailed("the scanner has ended")
        return data

    def _do(self, action: Callable[[], object]) -> bytes:
        try:
            result = action()
        except OSError as error:
            raise EngineFailed(f"the scanner does not answer ({type(error).__name__})") from None
        return result if isinstance(result, bytes) else b""


@dataclass
class _Waiting:
    """A file whose verdict is not known yet, or one that is unchanged."""

    root: Root
    key: Key
    facts: _Facts
    attempt: int = 1
    known: bytes = b""
    """The hash that was clean at the last scan."""
    unchanged: bool = False


class SiteScan:
    def __init__(
        self, channel: ScannerChannel, roots: list[Root], index: Path, version: str, *, full: bool
    ) -> None:
        """`index` is the file with what was clean at the last scan. With another `version` of the engines and
        rules, nothing of it counts."""
        self._channel, self._roots, self._index, self._version = channel, roots, index, version
        self._full = full
        self.report = FileReport()
        self.stopped = False
        self._sent: deque[list[_Waiting]] = deque()
        self._collected: list[_Waiting] = []
        self._open: list[int] = []
        self._open_bytes = 0
        self._again: list[_Waiting] = []
        self._write: Callable[[bytes], object] = lambda _: None

    def run(self) -> FileReport:
        """Raises EngineFailed and ScanStopped."""
        fresh = self._index.with_suffix(".new")
        try:
            with fresh.open("wb") as lines:
                lines.write(self._version.encode() + b"\n")
                self._write = lines.write
                for place, root in enumerate(self._roots):
                    self._scan_root(place, root)
                self._flush()
                while self._sent:
                    self._take_answer()
                self._repeat_changed()
            fresh.rename(self._index)
        finally:
            fresh.unlink(missing_ok=True)
            for descriptor in self._open:
                os.close(descriptor)
        return self.report

    def _scan_root(self, place: int, root: Root) -> None:
        known = _Known(self._index, self._version, place, trust=not self._full)
        try:
            top = open_directory(root.directory)
        except FileNotFoundError:
            return
        try:
            for key, status, directory in self._walk(top, ()):
                facts = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                same, digest = known.find(key, facts)
                waiting = _Waiting(root, key, facts, known=digest, unchanged=same)
                if same:
                    self._collected.append(waiting)
                else:
                    self._collect(waiting, directory)
                if self._is_full():
                    self._flush()
        finally:
            os.close(top)

    def _walk(self, directory: int, key: Key) -> Iterator[tuple[Key, os.stat_result, int]]:
        if len(key) > MAX_DEPTH or self.report.files > MAX_FILES:
            self._fail((*key, b"*"), "there are too many files or levels of directories")
            return
        with os.scandir(directory) as found:
            names = sorted(os.fsencode(entry.name) for entry in found)
        for name in names:
            if self.stopped:
                raise ScanStopped
            # What was removed or replaced meanwhile.
            with suppress(FileNotFoundError, NotADirectoryError):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    below = open_directory(name, directory)
                    try:
                        yield from self._walk(below, (*key, name))
                    finally:
                        os.close(below)
                elif stat.S_ISREG(status.st_mode):
                    self.report.files += 1
                    yield (*key, name), status, directory

    def _collect(self, waiting: _Waiting, directory: int) -> None:
        try:
            descriptor = os.open(waiting.key[-1], _FILE, dir_fd=directory)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self._fail(waiting.key, f"the file cannot be opened ({type(error).__name__})", waiting.root)
            return
        self._open.append(descriptor)
        self._open_bytes += waiting.facts[1]
        self._collected.append(waiting)

    def _is_full(self) -> bool:
        return (
            len(self._open) >= MAX_FILES_AT_ONCE
            or self._open_bytes >= MAX_BYTES_AT_ONCE
            or len(self._collected) >= MAX_COLLECTED
        )

    def _flush(self) -> None:
        """Send what was collected. Files that are unchanged wait in the same order, for the index."""
        if not self._collected:
            return
        requests = [
            Request(place, _path_of(each), each.known)
            for place, each in enumerate(self._collected)
            if not each.unchanged
        ]
        if requests:
            self._channel.send(requests, self._open)
        for descriptor in self._open:
            os.close(descriptor)
        self._open, self._open_bytes = [], 0
        self._sent.append(self._collected)
        self._collected = []
        while len(self._sent) > OUTSTANDING:
            self._take_answer()

    def _take_answer(self) -> None:
        batch = self._sent.popleft()
        asked = [place for place, each in enumerate(batch) if not each.unchanged]
        answers = {verdict.id: verdict for verdict in self._channel.receive()} if asked else {}
        if set(answers) != set(asked):
            raise EngineFailed("the scanner has answered something else")
        for place, waiting in enumerate(batch):
            if waiting.unchanged:
                self.report.unchanged += 1
                self._remember(waiting, waiting.known)
            else:
                self._judge(waiting, answers[place])

    def _judge(self, waiting: _Waiting, verdict: Verdict) -> None:
        size = waiting.facts[1]
        if verdict.result == "error":
            if verdict.detail.startswith("clamd"):
                raise EngineFailed(verdict.detail)
            if verdict.detail == _CHANGED and waiting.attempt < MAX_ATTEMPTS:
                waiting.attempt += 1
                self._again.append(waiting)
            else:
                self._fail(waiting.key, verdict.detail, waiting.root)
            return
        if verdict.scanned:
            self.report.scanned += 1
            self.report.bytes += size
        else:
            self.report.unchanged += 1
        if verdict.result == "clean":
            self._remember(waiting, verdict.sha256)
            return
        if len(self.report.findings) >= MAX_FINDINGS:
            self.report.omitted += 1
            return
        self.report.findings.append(
            FileFinding(
                to_text(_path_of(waiting)),
                verdict.sha256.hex(),
                verdict.signature,
                verdict.engine,
                verdict.detail,
                size,
                waiting.root.movable and len(_path_of(waiting)) <= 1000,
            )
        )

    def _remember(self, waiting: _Waiting, digest: bytes) -> None:
        if waiting.facts[3] < time.time_ns() - SETTLED_NS and len(digest) == 32:
            path = escape(b"/".join(waiting.key))
            place = self._roots.index(waiting.root)
            self._write(b"%d %d %d %d %d %b %b\n" % (place, *waiting.facts, digest.hex().encode(), path))

    def _repeat_changed(self) -> None:
        """Files that were changed while they were read."""
        while self._again:
            waiting = self._again.pop()
            try:
                directory = _open_parent(waiting.root.directory, waiting.key)
            except OSError:
                continue
            try:
                with suppress(FileNotFoundError):
                    status = os.stat(waiting.key[-1], dir_fd=directory, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        # It may still be written: it is scanned again next time.
                        waiting.facts = (status.st_ino, status.st_size, status.st_mtime_ns, time.time_ns())
                        waiting.known = b""
                        self._collect(waiting, directory)
            finally:
                os.close(directory)
            self._flush()
            while self._sent:
                self._take_answer()

    def _fail(self, key: Key, reason: str, root: Root | None = None) -> None:
        if len(self.report.failed) < MAX_FINDINGS:
            prefix = f"{root.prefix}/" if root else ""
            self.report.failed.append((prefix + to_text(b"/".join(key)), reason))


def _path_of(waiting: _Waiting) -> bytes:
    return b"/".join((waiting.root.prefix.encode(), *waiting.key))


def _open_parent(top: Path, key: Key) -> int:
    directory = open_directory(top)
    for name in key[:-1]:
        try:
            below = open_directory(name, directory)
        finally:
            os.close(directory)
        directory = below
    return directory


class _Known:
    """The lines of the index of one root, in the order of the paths."""

    def __init__(self, file: Path, version: str, place: int, *, trust: bool) -> None:
        self._lines = _read(file, version, place)
        self._next = next(self._lines, None)
        self._trust = trust

    def find(self, key: Key, facts: _Facts) -> tuple[bool, bytes]:
        """Whether the file is the same as at the last scan, and the hash that was clean then."""
        while self._next is not None and self._next[0] < key:
            self._next = next(self._lines, None)
        if self._next is None or self._next[0] != key or not self._trust:
            return False, b""
        return self._next[1] == facts, self._next[2]


def _read(file: Path, version: str, wanted: int) -> Iterator[tuple[Key, _Facts, bytes]]:
    """What cannot be read ends it: the rest is not known."""
    with suppress(OSError, ValueError), file.open("rb") as lines:
        if lines.readline().rstrip(b"\n") != version.encode():
            return
        for line in lines:
            place, inode, size, modified, changed, digest, path = line.rstrip(b"\n").split(b" ", 6)
            if int(place) == wanted:
                key = tuple(unescape(path).split(b"/"))
                yield (
                    key,
                    (int(inode), int(size), int(modified), int(changed)),
                    bytes.fromhex(digest.decode()),
                )
