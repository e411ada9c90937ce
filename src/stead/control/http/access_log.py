"""The access log: one line per request, written in batches.

Writing each line separately would take about a tenth of the time of a small read.
"""

import asyncio
import sys
import time
from collections import Counter
from typing import BinaryIO

import msgspec

from stead.control import metrics
from stead.control.http.requests import Request

BATCH_SECONDS = 0.1


class Line(msgspec.Struct):
    ts: float
    event: str
    request_id: str
    method: str
    path: str
    operation: str
    status: int
    ms: float


class AccessLog:
    """Writes log lines and updates metrics every tenth of a second. Without a file, only updates metrics."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = file
        self._lines: list[Line] = []
        self._encode = msgspec.json.Encoder().encode_lines

    def record(self, request: Request, operation: str, status: int, seconds: float) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self.flush)
        ms = seconds * 1000
        self._lines.append(
            Line(time.time(), "request", request.id, request.method, request.path, operation, status, ms)
        )

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        for (operation, status), number in Counter((line.operation, line.status) for line in lines).items():
            metrics.requests.labels(operation, str(status)).inc(number)
        for line in lines:
            metrics.seconds.labels(line.operation).observe(line.ms / 1000)
        if self._file is not None and lines:
            self._file.write(self._encode(lines))
            self._file.flush()


def to_stdout() -> AccessLog:
    return AccessLog(sys.stdout.buffer)
