"""The process that reads the files of customers. It gives up its user, its network and its file system first.

Its standard input is a socket. The first message has the compiled rules; every other one has requests and the
descriptors of their files, and is answered in the same order. It starts as root only to change its user.
"""

import ctypes
import hashlib
import os
import resource
import socket
import time

import msgspec

from stead.node.containers.join_group import join
from stead.node.scanning.clamd_client import REPLY_SECONDS, ClamdSession, ClamdUnavailable
from stead.node.scanning.paths import MAX_HASHED_BYTES
from stead.node.scanning.verdicts import CHANGED, OUT_OF_TIME, Hello, Request, Result, Verdict
from stead.node.scanning.yara_engine import Finding, YaraEngine, YaraFailed

MAX_BYTES = 64 << 20
"""Of a larger file, the beginning and the end are scanned by YARA. clamd has limits of its own."""
MAX_FILES_AT_ONCE = 32
MAX_BYTES_AT_ONCE = 32 << 20
"""Of the files of one message, except for the last one: their contents are in memory at the same time."""
MESSAGE_BYTES = 160 << 10
_PR_SET_NO_NEW_PRIVS = 38
_CLAMD = "/clamd.sock"
_MEMORY_BYTES = 1 << 30

_requests = msgspec.msgpack.Decoder(list[Request])


class Start(msgspec.Struct, frozen=True):
    """The first message. Descriptors beside it: the compiled rules, and the hashes of known files."""

    uid: int
    gid: int
    root: str
    """The directory with the socket of clamd, and nothing else."""
    clamd_seconds: float = REPLY_SECONDS
    seconds: float = 600.0
    """For all files. Those that are left then have no result."""
    groups: tuple[str, ...] = ()
    """The files of the control group that it joins."""


def main() -> None:
    channel = socket.socket(fileno=os.dup(0))
    data, descriptors, _, _ = socket.recv_fds(channel, MESSAGE_BYTES, 2)
    start = msgspec.msgpack.decode(data, type=Start)
    rules = msgspec.msgpack.decode(_read_all(descriptors[0]), type=dict[str, bytes])
    known = _read_all(descriptors[1])
    # Loads what is imported late, while there is a file system.
    engine = YaraEngine(rules)
    engine.scan(b"<?php eval(base64_decode('ZWNobyAxOw==')); ?><script>", b"wp-content/a.php")
    _drop_privileges(start)
    hashes = frozenset(known[place : place + 32] for place in range(0, len(known), 32))
    Scanner(channel, engine, hashes, time.monotonic() + start.seconds).run(start.clamd_seconds)


def _drop_privileges(start: Start) -> None:
    join(start.groups)
    os.chroot(start.root)
    os.chdir("/")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.setgroups([])
    os.setresgid(start.gid, start.gid, start.gid)
    os.setresuid(start.uid, start.uid, start.uid)
    if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or os.geteuid() != start.uid:
        raise PermissionError("the scanner could not give up its privileges")
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


class Scanner:
    def __init__(
        self, channel: socket.socket, engine: YaraEngine, known: frozenset[bytes], until: float
    ) -> None:
        self._channel, self._engine, self._known, self._until = channel, engine, known, until

    def run(self, clamd_seconds: float) -> None:
        try:
            clamd = ClamdSession(_CLAMD, clamd_seconds)
            hello = Hello("", clamd.ask_version())
        except ClamdUnavailable as error:
            self._send(Hello("", "", str(error)))
            return
        self._send(hello)
        while True:
            data, descriptors, _, _ = socket.recv_fds(self._channel, MESSAGE_BYTES, MAX_FILES_AT_ONCE)
            if not data:
                return
            try:
                requests = _requests.decode(data)
                self._send(list(self._scan(clamd, requests, descriptors)))
            except ClamdUnavailable as error:
                self._send([Verdict(each.id, "error", detail=str(error)) for each in requests])
                return
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)

    def _scan(self, clamd: ClamdSession, requests: list[Request], descriptors: list[int]) -> list[Verdict]:
        if len(requests) != len(descriptors):
            return [Verdict(each.id, "error", detail="the file was not passed") for each in requests]
        contents = [_FileContent(each, self._until) for each in descriptors]
        numbers: dict[int, int] = {}
        yara: dict[int, Finding | str | None] = {}
        for place, (request, content) in enumerate(zip(requests, contents, strict=True)):
            if content.error or content.sha256 in self._known or content.sha256 == request.known:
                continue
            if time.monotonic() > self._until:
                content.error = OUT_OF_TIME
                continue
            # clamd reads it while YARA does.
            numbers[place] = clamd.submit(descriptors[place])
            yara[place] = self._match(content.data, request.path)
        answers = clamd.finish()
        replies = {place: answers[number] for place, number in numbers.items()}
        verdicts = []
        for place, (request, content) in enumerate(zip(requests, contents, strict=True)):
            if content.error:
                verdict = Verdict(request.id, "error", content.sha256, detail=content.error)
            elif place not in replies:
                verdict = Verdict(request.id, "clean", content.sha256, scanned=False)
            else:
                verdict = _combine(request.id, content, replies[place], yara[place], descriptors[place])
            verdicts.append(verdict)
        return verdicts

    def _match(self, data: bytes, path: bytes) -> Finding | str | None:
        try:
            return self._engine.scan(data, path)
        except YaraFailed as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - no file may prevent that the others are scanned
            return f"the file cannot be scanned ({type(error).__name__})"

    def _send(self, message: object) -> None:
        self._channel.sendall(msgspec.msgpack.encode(message))


class _FileContent:
    """Read once. `mmap` would end this process if the file were cut meanwhile."""

    def __init__(self, descriptor: int, until: float) -> None:
        self.error, self.sha256, self.data = "", b"", b""
        if time.monotonic() > until:
            self.error = OUT_OF_TIME
            return
        try:
            before = os.fstat(descriptor)
            self.status = before
            if before.st_size > MAX_HASHED_BYTES:
                self.error = "the file is too large to be scanned"
                return
            made, pieces, place = hashlib.sha256(), [], 0
            while piece := os.pread(descriptor, 1 << 20, place):
                made.update(piece)
                if place < MAX_BYTES // 2 or place >= before.st_size - MAX_BYTES // 2:
                    pieces.append(piece)
                place += len(piece)
                if place > before.st_size + (1 << 20):
                    break
            self.data, self.sha256 = b"".join(pieces), made.digest()
        except (OSError, MemoryError) as error:
            self.error = f"the file cannot be read ({type(error).__name__})"
            return
        if has_changed(before, descriptor):
            self.error = CHANGED


def has_changed(before: os.stat_result, descriptor: int) -> bool:
    now = os.fstat(descriptor)
    return (before.st_size, before.st_mtime_ns, before.st_ctime_ns) != (
        *(now.st_size, now.st_mtime_ns, now.st_ctime_ns),
    )


def _combine(
    id_: int,
    content: _FileContent,
    clamd: tuple[Result, str],
    yara: Finding | str | None,
    descriptor: int,
) -> Verdict:
    """An infection needs content that did not change between the two engines."""
    if has_changed(content.status, descriptor):
        return Verdict(id_, "error", content.sha256, detail=CHANGED)
    result, text = clamd
    if result == "infected":
        return Verdict(id_, "infected", content.sha256, text, "clamav")
    if isinstance(yara, Finding):
        place = f"line {yara.line}" if yara.line else "in hidden code"
        return Verdict(id_, "infected", content.sha256, yara.signature, "yara", place)
    if isinstance(yara, str) or result == "error":
        return Verdict(id_, "error", content.sha256, detail=yara if isinstance(yara, str) else text)
    return Verdict(id_, "clean", content.sha256)


if __name__ == "__main__":
    main()
