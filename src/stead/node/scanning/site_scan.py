"""Scans the files of one site: walks them, passes each to the scanner, and remembers which were clean.

Files belong to customers, who may change them meanwhile: directories and files are opened relative to their
directory, and links are never followed. Everything has a limit, because hard links and holes make millions of
large files on a small disk. A scan has a limited time, too: what it has read is remembered, so that the next
one goes on with the rest. Blocks; run it in a thread.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from stead.node.scanning.child import MAX_BYTES_AT_ONCE, MAX_FILES_AT_ONCE
from stead.node.scanning.findings import FileFinding, FileReport, Root
from stead.node.scanning.paths import open_directory, to_text
from stead.node.scanning.scan_index import FAILED, Facts, ScanIndex, build_line
from stead.node.scanning.scanner_channel import EngineFailed, ScannerChannel
from stead.node.scanning.verdicts import CHANGED, CLAMD_REFUSED, OUT_OF_TIME, Request, Verdict
from stead.node.snapshots.tree_scan import MAX_DEPTH, MAX_FILES, Key

OUTSTANDING = 2
"""How many messages are sent before the first is answered."""
MAX_COLLECTED = 1000
"""Files of one message, with those that are unchanged."""
MAX_FINDINGS = 500
MAX_FAILED = 100
"""Files without a result that are named."""
MAX_ATTEMPTS = 3
"""For a file that is changed while it is read."""
MAX_REPEATED = 500
"""Files that are read again at the end."""
MAX_PATH = 4000
"""Neither PHP nor nginx can open a file with a longer path."""
MAX_MOVED_PATH = 1000
"""Escaped, a path is up to four times as long, and must fit into a message."""
MAX_NAMES = 300_000
"""Of the directories that are being read, in memory at the same time."""
MAX_REFUSED = 20
"""Files that clamd may refuse. More of them are a failure of clamd."""
INDEX_BYTES = 128 << 20
SETTLED_NS = 60_000_000_000
"""What was changed a moment before could be changed again at the same time, and a page in memory later, so it
is not remembered."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOATIME
_NO_RESULT_BEFORE = "it had no result before, and has not changed"
_NOT_ITS_FAULT = (CHANGED, CLAMD_REFUSED, "the site has too many", "the file cannot be read")
"""How reasons begin that do not come from the content of the file."""


class ScanStopped(Exception):
    """Nobody needs the result any more."""


@dataclass
class _Waiting:
    """A file whose verdict is not known yet, or one that is unchanged."""

    root: Root
    place: int
    """Of the root."""
    key: Key
    facts: Facts
    attempt: int = 1
    known: bytes = b""
    """The hash that was clean at the last scan."""
    unchanged: bool = False
    had_failed: bool = False


class SiteScan:
    def __init__(
        self,
        channel: ScannerChannel,
        roots: list[Root],
        index: Path,
        version: str,
        *,
        full: bool,
        seconds: float = 600.0,
        index_bytes: int = INDEX_BYTES,
    ) -> None:
        """`index` is the file with what was clean at the last scan. With another `version` of the engines and
        rules, nothing of it counts. The scanner has its own limit of time; nothing takes longer than twice
        `seconds`."""
        self._channel, self._roots, self._index, self._version = channel, roots, index, version
        self._full, self._index_bytes = full, index_bytes
        self._until = time.monotonic() + 2 * seconds
        self.report = FileReport()
        self.stopped = False
        self._sent: deque[list[_Waiting]] = deque()
        self._collected: list[_Waiting] = []
        self._open: list[int] = []
        self._open_bytes = 0
        self._again: list[_Waiting] = []
        self._names = self._refused = 0
        self._write: Callable[[bytes], object] = lambda _: None

    def stop(self) -> None:
        self.stopped = True
        self._channel.end()

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
                self._repeat()
            fresh.rename(self._index)
        finally:
            fresh.unlink(missing_ok=True)
            for descriptor in self._open:
                os.close(descriptor)
        return self.report

    def _scan_root(self, place: int, root: Root) -> None:
        known = ScanIndex(self._index, self._version, place, trust=not self._full)
        try:
            top = open_directory(root.directory)
        except FileNotFoundError:
            return
        try:
            missing = dict(root.expected or {})
            for key, status, directory in self._walk(top, (), root):
                missing.pop(key, None)
                facts = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                same, digest = known.find(key, facts)
                waiting = _Waiting(root, place, key, facts, known=digest, unchanged=same)
                if same:
                    self._collected.append(waiting)
                elif self.report.unfinished:
                    self._leave_out(waiting)
                else:
                    self._collect(waiting, directory)
                if self._is_full():
                    self._flush()
            if not self.report.unfinished:
                for key, digest in missing.items():
                    self._find(root, key, digest, "release_missing_file", "inventory", "it was removed")
        finally:
            os.close(top)

    def _walk(self, directory: int, key: Key, root: Root) -> Iterator[tuple[Key, os.stat_result, int]]:
        length = len(root.prefix) + sum(len(part) + 1 for part in key)
        names = self._list(directory, key, root)
        self._names += len(names)
        for name in names:
            if self.stopped:
                raise ScanStopped
            if self.report.files >= MAX_FILES or time.monotonic() > self._until:
                self.report.unfinished += self.report.files < MAX_FILES
                self._fail((*key, b"*"), "there are too many files", root)
                break
            # What was removed or replaced meanwhile.
            with suppress(FileNotFoundError, NotADirectoryError):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                is_directory = stat.S_ISDIR(status.st_mode)
                if not is_directory and not stat.S_ISREG(status.st_mode):
                    continue
                if length + 1 + len(name) > MAX_PATH or (is_directory and len(key) >= MAX_DEPTH):
                    self._fail((*key, name), "the path is too long", root)
                elif is_directory:
                    below = open_directory(name, directory)
                    try:
                        yield from self._walk(below, (*key, name), root)
                    finally:
                        os.close(below)
                else:
                    self.report.files += 1
                    yield (*key, name), status, directory
        self._names -= len(names)

    def _list(self, directory: int, key: Key, root: Root) -> list[bytes]:
        with os.scandir(directory) as found:
            names = [os.fsencode(entry.name) for entry in islice(found, MAX_NAMES - self._names)]
            if next(found, None) is not None:
                self._fail((*key, b"*"), "there are too many files", root)
        return sorted(names)

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
            if waiting.unchanged and waiting.known:
                self.report.unchanged += 1
                self._remember(waiting, waiting.known)
            elif waiting.unchanged:
                self._note(waiting, FAILED)
                waiting.unchanged, waiting.had_failed = False, True
                self._read_later(waiting, _NO_RESULT_BEFORE)
            else:
                self._judge(waiting, answers[place])

    def _judge(self, waiting: _Waiting, verdict: Verdict) -> None:
        size = waiting.facts[1]
        if verdict.result == "error":
            self._judge_error(waiting, verdict)
            return
        if verdict.scanned:
            self.report.scanned += 1
            self.report.bytes += size
        else:
            self.report.unchanged += 1
        if verdict.result == "clean":
            self._remember(waiting, verdict.sha256)
            return
        self._find(
            *(waiting.root, waiting.key, verdict.sha256, verdict.signature, verdict.engine, verdict.detail),
            size=size,
        )

    def _find(
        self, root: Root, key: Key, digest: bytes, signature: str, engine: str, detail: str, size: int = 0
    ) -> None:
        if len(self.report.findings) >= MAX_FINDINGS:
            self.report.omitted += 1
            return
        path = b"/".join((root.prefix.encode(), *key))
        movable = root.movable and len(path) <= MAX_MOVED_PATH
        self.report.findings.append(
            FileFinding(to_text(path), digest.hex(), signature, engine, detail, size, movable)
        )

    def _judge_error(self, waiting: _Waiting, verdict: Verdict) -> None:
        if verdict.detail == OUT_OF_TIME:
            self._leave_out(waiting)
        elif verdict.detail == CHANGED and waiting.attempt < MAX_ATTEMPTS:
            waiting.attempt += 1
            self._read_later(waiting, CHANGED)
        elif verdict.detail == CLAMD_REFUSED and self._refused < MAX_REFUSED:
            self._refused += 1
            self._fail(waiting.key, verdict.detail, waiting.root)
        elif verdict.detail.startswith("clamd"):
            raise EngineFailed(verdict.detail)
        else:
            self._fail(waiting.key, verdict.detail, waiting.root)
            if not verdict.detail.startswith(_NOT_ITS_FAULT):
                self._note(waiting, FAILED)

    def _leave_out(self, waiting: _Waiting) -> None:
        self.report.unfinished += 1
        self._fail(waiting.key, f"{OUT_OF_TIME}; the next one goes on", waiting.root)

    def _read_later(self, waiting: _Waiting, otherwise: str) -> None:
        """After all others, if there is room for it."""
        if len(self._again) < MAX_REPEATED:
            self._again.append(waiting)
        else:
            self._fail(waiting.key, otherwise, waiting.root)

    def _remember(self, waiting: _Waiting, digest: bytes) -> None:
        """A clean file."""
        if len(digest) != 32:
            return
        expected = waiting.root.expected
        if expected is not None and expected.get(waiting.key) != digest:
            detail = "it is not as it was released"
            self._find(waiting.root, waiting.key, digest, "release_changed_file", "inventory", detail)
        self._note(waiting, digest.hex().encode())

    def _note(self, waiting: _Waiting, result: bytes) -> None:
        """Lines are in the order of the paths: files that are read after all others have been changed, or
        have one already."""
        is_settled = waiting.facts[3] < time.time_ns() - SETTLED_NS
        if waiting.had_failed or waiting.attempt > 1 or not is_settled or self._index_bytes <= 0:
            return
        line = build_line(waiting.place, waiting.key, waiting.facts, result)
        self._index_bytes -= len(line)
        self._write(line)

    def _repeat(self) -> None:
        """Files that were changed while they were read, and those that had no result before."""
        while self._again:
            waiting = self._again.pop()
            if self.stopped:
                raise ScanStopped
            if self.report.unfinished:
                self._fail(waiting.key, _NO_RESULT_BEFORE if waiting.had_failed else CHANGED, waiting.root)
                continue
            try:
                directory = _open_parent(waiting.root.directory, waiting.key)
            except OSError:
                continue
            try:
                with suppress(FileNotFoundError):
                    status = os.stat(waiting.key[-1], dir_fd=directory, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        waiting.facts = (
                            *(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns),
                        )
                        waiting.known = b""
                        self._collect(waiting, directory)
            finally:
                os.close(directory)
            self._flush()
            while self._sent:
                self._take_answer()

    def _fail(self, key: Key, reason: str, root: Root) -> None:
        self.report.without_result += 1
        if len(self.report.failed) < MAX_FAILED:
            self.report.failed.append((f"{root.prefix}/{to_text(b'/'.join(key))}", reason))


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
