"""Reads what applications write to their logs, and makes chunks of it.

A log belongs to a customer, who may write anything to it, as fast as its disk allows. So little of it is read
at a time, lines are bounded, and addresses of visitors and of mail are masked before a line leaves the node.
"""

import os
import re
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stead.node.drivers.driver import SiteLog
from stead.node.telemetry.daily_volume import DailyVolume
from stead.node.telemetry.masks import mask
from stead.node.telemetry.spool import NewRows, Position, Spool
from stead.protocol.telemetry import TIME_DIGITS

READ_BYTES = 512 * 1024
READ_LINES = 5_000
"""Of one log, each time."""
BYTES_PER_DAY = 200 << 20
"""Of one environment."""
MAX_NOTICES = 1_000
ROWS_PER_CHUNK = 20_000
LOOK_BACK = 1 << 20
"""How much of a log is read when it is seen for the first time."""
SEARCHED_BYTES = 16 << 20
BEFORE_BYTES = 256
CONTINUED_SECONDS = 30.0
"""A line without a time that is read this soon after another one belongs to it."""
OLDEST_SECONDS = 7 * 86_400
_KIND = b"log:"

_STAMP = re.compile(
    r"\[(\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d)(?:\.\d{1,9})?(?: ([A-Za-z0-9_+/:-]{1,40}))?\] ?(.*)",
    re.DOTALL,
)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_WRAPPED = re.compile(
    r'WARNING: \[pool \w+\] child \d+ said into std(?:err|out): "(.*?)"?(?:, pipe is closed)?$'
)
_FUNCTION = re.compile(r"(fnv_[0-9a-z]{26}) (?:([0-9a-f]{32})|-) ((failed: )?.*)", re.DOTALL)
"""What the host of functions writes before a line: the version, the trace, and whether the request failed."""
_FPM = re.compile(r"(ALERT|ERROR|WARNING|NOTICE|DEBUG): ")
_PHP = re.compile(r"(?:PHP )?(Fatal error|Parse error|Recoverable fatal error|Warning|Notice|Deprecated)\b")
_SEVERITIES = {
    **dict.fromkeys(("ALERT", "ERROR", "Fatal error", "Parse error", "Recoverable fatal error"), "ERROR"),
    **dict.fromkeys(("WARNING", "Warning"), "WARN"),
    **dict.fromkeys(("NOTICE", "Notice", "Deprecated"), "INFO"),
    "DEBUG": "DEBUG",
}
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\b": "\\b", "\f": "\\f"}
)
_LOST = "Lines were lost here: they were written faster than they could be read."
_TOO_MUCH = (
    f"Lines are left out from here on, for an hour or more: this environment has written more than"
    f" {BYTES_PER_DAY >> 20} MB to its log in a day."
)


class LogLine(NamedTuple):
    moment: float
    severity: str
    service: str
    body: str
    original: str = ""
    """Before anything was masked. It does not leave the node."""
    trace: str = ""


class LogSource:
    """Its methods block."""

    def __init__(
        self,
        list_logs: Callable[[], Sequence[SiteLog]],
        spool: Spool,
        find_trace: Callable[[str, str], str] = lambda *_: "",
    ) -> None:
        """`find_trace` gets an environment and a line, and returns the trace of the line or nothing."""
        self._list_logs, self._spool, self._find_trace = list_logs, spool, find_trace
        self._volume = DailyVolume(BYTES_PER_DAY)
        self._last: dict[bytes, tuple[float, LogLine]] = {}
        """When the last line of each log was read, and that line."""
        self._notices: deque[tuple[str, str]] = deque(maxlen=MAX_NOTICES)
        self.until = 0.0
        """Everything up to then is in chunks, of logs that are not written to too fast."""

    def add_notice(self, environment: str, text: str) -> None:
        """Add a line of the platform to the log of an environment."""
        self._notices.append((environment, text))

    def read_new(self) -> None:
        began, rows = time.time(), NewRows("logs")
        positions: dict[bytes, Position] = {}
        logs = self._list_logs()
        with self._spool.lock:
            for log in logs:
                if self._spool.is_full:
                    return
                file = _name(log)
                if (position := self._read(log, file, rows, began)) is not None:
                    positions[file] = position
                if rows.count >= ROWS_PER_CHUNK or rows.is_full:
                    self._spool.save(positions, rows, began)
                    positions, rows = {}, NewRows("logs")
            self._take_notices(rows, began)
            if positions or rows.count:
                self._spool.save(positions, rows, began)
            present = {_name(log) for log in logs}
            self._spool.forget_files(_KIND, present)
            self._last = {file: last for file, last in self._last.items() if file in present}
            self.until = began

    def _take_notices(self, rows: NewRows, now: float) -> None:
        while self._notices:
            environment, text = self._notices.popleft()
            rows.add(environment, now, format_log_row(LogLine(now, "WARN", "stead", text), ""))

    def _read(self, log: SiteLog, file: bytes, rows: NewRows, now: float) -> Position | None:
        """Add the new lines, and return where the next ones will begin; None if there is nothing new."""
        known = self._spool.position(file)
        try:
            # The customer owns the file, so it may be a link or a pipe by now.
            descriptor = os.open(log.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            start, has_lost = _find_start(descriptor, status.st_size, known)
            content = os.pread(descriptor, READ_BYTES, start)
        finally:
            os.close(descriptor)
        complete = content[: content.rfind(b"\n") + 1]
        if not complete:
            if len(content) < READ_BYTES:
                return None
            complete = content  # a line without an end
        *_, rest = complete.split(b"\n", READ_LINES)
        complete = complete.removesuffix(rest) if rest and complete.endswith(b"\n") else complete
        if has_lost:
            rows.add(
                log.environment, now, format_log_row(LogLine(now, "WARN", "stead", _LOST), log.container)
            )
        if self._volume.take(log.environment, len(complete), self._note_volume):
            self._add_lines(log, file, complete.decode("utf-8", "replace"), rows, now)
        before = (known.before if known and start == known.offset else b"") + complete
        return Position(start + len(complete), before[-BEFORE_BYTES:])

    def _add_lines(self, log: SiteLog, file: bytes, text: str, rows: NewRows, now: float) -> None:
        read_at, before = self._last.get(file, (0.0, None))
        line = before
        for line in read_lines(text, now, before if now - read_at <= CONTINUED_SECONDS else None):
            trace = line.trace or self._find_trace(log.environment, line.original)
            rows.add(log.environment, line.moment, format_log_row(line, log.container, trace))
        if line is not None:
            self._last[file] = now, line._replace(body="", original="", trace="")

    def _note_volume(self, environment: str) -> None:
        self.add_notice(environment, _TOO_MUCH)


def _name(log: SiteLog) -> bytes:
    return _KIND + f"{log.environment}:{log.path}".encode()


def _find_start(descriptor: int, size: int, known: Position | None) -> tuple[int, bool]:
    """Where new lines begin, and whether some before them are lost. The node removes the beginning of a log
    that is too long, so the last bytes that were read are looked for."""
    if known is None:
        return max(size - LOOK_BACK, 0), False
    length = len(known.before)
    if known.offset <= size and os.pread(descriptor, length, known.offset - length) == known.before:
        return known.offset, False
    content = os.pread(descriptor, SEARCHED_BYTES, 0)
    # The last place. `rfind` can take a second for bytes that are chosen badly; `find` cannot.
    found = content[::-1].find(known.before[::-1])
    return (len(content) - found, False) if found >= 0 else (0, True)


def read_lines(text: str, now: float, before: LogLine | None = None) -> Iterator[LogLine]:
    """Lines without a time belong to the one before them. Lines of one second keep their order."""
    moment, repeated, severity, service = now, 0, "INFO", "php"
    if before is not None:
        moment, severity, service = before.moment, before.severity, before.service
        repeated = round(moment % 1 * 1000)
    for line in text.split("\n"):
        if not line.strip():
            continue
        stamped = _STAMP.match(line)
        body, trace = line, ""
        if stamped is not None:
            body = stamped[3]
            if (function := _FUNCTION.fullmatch(body)) is not None:
                trace = function[2] or ""
            found = _read_time(stamped[1], stamped[2] or "UTC", now)
            repeated = repeated + 1 if int(moment) == int(found) else 0
            moment = found
            body, severity, service = _classify(body)
        else:
            repeated += 1
        found_at = min(int(moment) + min(repeated, 999) / 1000, now)
        yield LogLine(found_at, severity, service, mask(body), body, trace)


def _read_time(text: str, zone: str, now: float) -> float:
    known = _find_zone(zone)
    if known is None:
        return now
    try:
        found = datetime.strptime(text, "%d-%b-%Y %H:%M:%S").replace(tzinfo=known).timestamp()
    except (ValueError, OverflowError):
        return now
    return found if now - OLDEST_SECONDS <= found <= now else now


@lru_cache(maxsize=1_000)
def _find_zone(name: str) -> tzinfo | None:
    """A site chooses its own zone. None if it is not known."""
    if name == "UTC":
        return UTC
    if (offset := _OFFSET.fullmatch(name)) is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return (
            timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes)) if minutes < 1440 else None
        )
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _classify(body: str) -> tuple[str, str, str]:
    service = "php"
    if (function := _FUNCTION.fullmatch(body)) is not None:
        return f"{function[1]} {function[3]}", "ERROR" if function[4] else "INFO", "function"
    if (wrapped := _WRAPPED.match(body)) is not None:
        body = wrapped[1]
    elif (fpm := _FPM.match(body)) is not None:
        return body[fpm.end() :], _SEVERITIES[fpm[1]], "php-fpm"
    if body.startswith("cron: "):
        service = "cron"
    php = _PHP.match(body)
    severity = (
        _SEVERITIES[php[1]] if php else "ERROR" if "Uncaught " in body or " failed: " in body else "INFO"
    )
    return body, severity, service


def format_log_row(line: LogLine, container: str, trace: str = "") -> bytes:
    moment = f"{line.moment:0{TIME_DIGITS}.3f}"
    body = line.body.translate(_ESCAPES)
    return f"{moment}\t{line.severity}\t{container}\t{line.service}\t{body}\t{trace}\n".encode(
        "utf-8", "replace"
    )
