"""What a program records about itself for its operators: log lines and samples of metrics, without data of
tenants.

Log lines name sites, environments, hosts and people. None of that is kept: of a field that is a text, only
those are kept whose values come from the code or from the operator, and names of types. Numbers say nothing
about whom they belong to.
"""

import re
import threading
from collections import deque
from collections.abc import Mapping, MutableMapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from stead.shared.metrics import Metrics

MAX_LINES = 5_000
"""How many lines wait. Then the oldest ones are lost, and counted."""
MAX_FIELDS = 20
LEVELS = ("debug", "info", "warning", "error", "critical")
CODE_FIELDS = frozenset(
    {"task", "kind", "step", "operation", "code", "memory", "node", "region", "stream", "outcome", "level"}
)
"""Their values are words of this program, or the operator's."""
TYPE_FIELDS = frozenset({"error", "reason"})
"""Kept if they are the name of a type: messages of errors quote what they are about."""
_FAMILIES = ("stead_", "process_")
_SKIPPED = frozenset({"event", "level", "ts"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_CODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}|[a-z][a-z0-9_.]{0,40}/[a-z_]{1,20}")
"""The second form is that of a job that continues another one: `site.delete/purge`."""
_EVENT = re.compile(r"[a-z][a-z0-9_]{0,39}(\.[a-z][a-z0-9_]{0,39}){0,3}")
_LABEL = re.compile(r"[A-Za-z0-9_.:+-]{0,100}|[a-z][a-z0-9_.]{0,40}/[a-z_]{1,20}")
_ID = re.compile(r"[a-z]+_[0-9a-z]{26}")

Name = Annotated[str, Meta(max_length=64)]
Value = Annotated[str, Meta(max_length=64)] | float | int | bool


class LogRecord(Struct, frozen=True, array_like=True):
    ts: float
    level: Name
    event: Annotated[str, Meta(max_length=160)]
    fields: dict[Name, Value]


class MetricSample(Struct, frozen=True, array_like=True):
    name: Annotated[str, Meta(max_length=100)]
    labels: dict[Name, Annotated[str, Meta(max_length=100)]]
    value: float


class OwnLog:
    """The latest lines of this process. Threads may write to it."""

    def __init__(self) -> None:
        self._lines: deque[LogRecord] = deque()
        self._lock = threading.Lock()
        self.lost = 0

    def process(self, _: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """For structlog, behind the level and the time."""
        record = reduce_line(event)
        if record is not None:
            with self._lock:
                if len(self._lines) >= MAX_LINES:
                    self._lines.popleft()
                    self.lost += 1
                self._lines.append(record)
        return event

    def take(self, limit: int) -> list[LogRecord]:
        """The oldest lines, which are removed."""
        with self._lock:
            return [self._lines.popleft() for _ in range(min(limit, len(self._lines)))]

    def put_back(self, lines: list[LogRecord]) -> None:
        """They could not be sent."""
        with self._lock:
            room = MAX_LINES - len(self._lines)
            kept = lines[-room:] if room else []
            self.lost += len(lines) - len(kept)
            self._lines.extendleft(reversed(kept))


own_log = OwnLog()
"""Of this process."""


def reduce_line(event: Mapping[str, Any]) -> LogRecord | None:
    """None if it is not a line of ours."""
    name = event.get("event")
    if not isinstance(name, str) or _EVENT.fullmatch(name) is None:
        return None
    fields = [(key, value) for key, value in event.items() if key not in _SKIPPED and may_be_kept(key, value)]
    moment = datetime.fromisoformat(str(event["ts"])).timestamp()
    return LogRecord(moment, str(event["level"]), name, dict(fields[:MAX_FIELDS]))


def may_be_kept(key: str, value: object) -> bool:
    if _NAME.fullmatch(key) is None:
        return False
    if isinstance(value, bool | int | float):
        return True
    if not isinstance(value, str) or _ID.search(value) is not None:
        return False
    if key in CODE_FIELDS:
        return _CODE.fullmatch(value) is not None
    return key in TYPE_FIELDS and _NAME.fullmatch(value) is not None


def is_valid_line(record: LogRecord) -> bool:
    """Checked again where records arrive: nodes are not believed."""
    return (
        _EVENT.fullmatch(record.event) is not None
        and record.level in LEVELS
        and len(record.fields) <= MAX_FIELDS
        and all(may_be_kept(key, value) for key, value in record.fields.items())
    )


def is_valid_sample(sample: MetricSample) -> bool:
    return sample.name.startswith(_FAMILIES) and all(
        _LABEL.fullmatch(value) is not None and _ID.search(value) is None for value in sample.labels.values()
    )


def take_samples(metrics: "Metrics") -> list[MetricSample]:
    """Every series of the program's own metrics. Of a histogram, the number and the sum."""
    return [
        MetricSample(sample.name, dict(sample.labels), float(sample.value))
        for family in metrics.registry.collect()
        if family.name.startswith(_FAMILIES)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_created"))
    ]
