"""What functions write to their log, and why their requests failed. A file for each function, of bounded
size. The agent sends what is new in it to the insights of the site."""

import os
import time
from pathlib import Path
from typing import Any

from stead.node.functions import places
from stead.node.functions.call_spans import trace_of
from stead.node.functions.spec import FunctionSpec
from stead.shared.token_bucket import TokenBuckets

MAX_BYTES, KEPT_BYTES = 2 << 20, 1 << 20
"""Then only the newest lines are kept."""

REPORTS_PER_SECOND, REPORTS_BURST = 50.0, 500
BYTES_PER_SECOND, BYTES_BURST = 1 << 20, 8 << 20
"""Of the functions of one site. What is more is dropped: the disk is shared."""


class LogFiles:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._rates = TokenBuckets(REPORTS_PER_SECOND, REPORTS_BURST)
        self._sizes = TokenBuckets(BYTES_PER_SECOND, BYTES_BURST)

    def write(self, spec: FunctionSpec, report: dict[str, Any], hidden: tuple[str, ...]) -> None:
        lines = [str(line) for line in report.get("log") or []]
        if reason := report.get("reason"):
            lines.append(f"failed: {reason} {report.get('detail') or ''}".rstrip())
        if not lines or not (self._rates.take(spec.site) and self._sizes.take(spec.site)):
            return
        self._sizes.charge(spec.site, sum(map(len, lines)))
        # As the logs of other applications begin their lines.
        stamp = time.strftime("[%d-%b-%Y %H:%M:%S UTC]", time.gmtime())
        trace = trace_of(report) or "-"
        text = "".join(f"{stamp} {spec.version} {trace} {_one_line(_hide(line, hidden))}\n" for line in lines)
        path = places.log_file(self._data, spec.function)
        if path.exists() and path.stat().st_size > MAX_BYTES:
            _shorten(path)
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)


def _shorten(path: Path) -> None:
    """Whoever reads the file finds its place again: nothing is left out between the lines that are kept."""
    with path.open("rb") as file:
        file.seek(-KEPT_BYTES, os.SEEK_END)
        file.readline()
        newest = file.read()
    fresh = path.with_name(f".{path.name}")
    fresh.write_bytes(newest)
    fresh.replace(path)


def _hide(text: str, hidden: tuple[str, ...]) -> str:
    """The longest first: a secret may contain another one."""
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, "[secret]")
    return text


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
