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
from datetime import UTC, datetime
from typing import NamedTuple

from stead.node.drivers.driver import SiteLog
from stead.node.telemetry.daily_volume import DailyVolume
from stead.node.telemetry.spool import NewRows, Position, Spool
from stead.protocol.telemetry import TIME_DIGITS

READ_BYTES = 512 * 1024
"""Of one log, each time."""
BYTES_PER_DAY = 200 << 20
"""Of one environment."""
MAX_NOTICES = 1_000
ROWS_PER_CHUNK = 20_000
LOOK_BACK = 1 << 20
"""How much of a log is read when it is seen for the first time."""
SEARCHED_BYTES = 16 << 20
BEFORE_BYTES = 256
MAX_BODY = 8_000
OLDEST_SECONDS = 7 * 86_400
_KIND = b"log:"

_STAMP = re.compile(r"\[(\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?(?: UTC)?\] ?(.*)", re.DOTALL)
_WRAPPED = re.compile(
    r'WARNING: \[pool \w+\] child \d+ said into std(?:err|out): "(.*?)"?(?:, pipe is closed)?$'
)
_FPM = re.compile(r"(ALERT|ERROR|WARNING|NOTICE|DEBUG): ")
_PHP = re.compile(r"(?:PHP )?(Fatal error|Parse error|Recoverable fatal error|Warning|Notice|Deprecated)\b")
_SEVERITIES = {
    **dict.fromkeys(("ALERT", "ERROR", "Fatal error", "Parse error", "Recoverable fatal error"), "ERROR"),
    **dict.fromkeys(("WARNING", "Warning"), "WARN"),
    **dict.fromkeys(("NOTICE", "Notice", "Deprecated"), "INFO"),
    "DEBUG": "DEBUG",
}
_IPV4 = re.compile(r"\b(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}\b")
_IPV6 = re.compile(r"\b((?:[0-9a-f]{1,4}:){2}[0-9a-f]{1,4}):[0-9a-f:]{2,}\b", re.IGNORECASE)
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")
_QUERY = re.compile(
    r"(\bhttps?://[^\s?\"']{1,2000}|(?:GET|POST|PUT|PATCH|DELETE|HEAD) /[^\s?\"']{0,2000})\?[^\s\"']*"
)
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
            self._spool.forget_files(_KIND, {_name(log) for log in logs})
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
        if has_lost:
            rows.add(
                log.environment, now, format_log_row(LogLine(now, "WARN", "stead", _LOST), log.container)
            )
        if self._volume.take(log.environment, len(complete), self._note_volume):
            for line in read_lines(complete.decode("utf-8", "replace"), now):
                trace = self._find_trace(log.environment, line.original)
                rows.add(log.environment, line.moment, format_log_row(line, log.container, trace))
        before = (known.before if known and start == known.offset else b"") + complete
        return Position(start + len(complete), before[-BEFORE_BYTES:])

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
    found = content.rfind(known.before)
    return (found + length, False) if found >= 0 else (0, True)


def read_lines(text: str, now: float) -> Iterator[LogLine]:
    """Lines without a time belong to the one before them. Lines of one second keep their order."""
    moment, repeated, severity, service = now, 0, "INFO", "php"
    for line in text.split("\n"):
        if not line.strip():
            continue
        stamped = _STAMP.match(line)
        body = line
        if stamped is not None:
            body = stamped[2]
            found = _read_time(stamped[1], now)
            repeated = repeated + 1 if int(moment) == int(found) else 0
            moment = found
            body, severity, service = _classify(body)
        else:
            repeated += 1
        yield LogLine(min(int(moment) + min(repeated, 999) / 1000, now), severity, service, mask(body), body)


def _read_time(text: str, now: float) -> float:
    try:
        found = datetime.strptime(text, "%d-%b-%Y %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return now
    return found if now - OLDEST_SECONDS <= found <= now else now


def _classify(body: str) -> tuple[str, str, str]:
    service = "php"
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


def mask(body: str) -> str:
    """Without addresses of visitors and of mail, and without query strings; bounded."""
    cut = len(body) - MAX_BODY
    body = body[:MAX_BODY]
    body = _QUERY.sub(r"\1", body)
    body = _MAIL.sub("[mail]", _IPV6.sub(r"\1::", _IPV4.sub(r"\1.0", body)))
    return f"{body} … {cut} more characters were cut" if cut > 0 else body


def format_log_row(line: LogLine, container: str, trace: str = "") -> bytes:
    moment = f"{line.moment:0{TIME_DIGITS}.3f}"
    body = line.body.translate(_ESCAPES)
    return f"{moment}\t{line.severity}\t{container}\t{line.service}\t{body}\t{trace}\n".encode(
        "utf-8", "replace"
    )
