"""What programs of the platform record about themselves, on its way to ClickHouse. It may be lost: it says
how the platform is doing, and nothing is charged or decided by it."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from stead.protocol.sign_ins import Identifier
from stead.shared.own_records import LogRecord, MetricSample, OwnLog

MAX_RECORDS = 1_000
"""In one message, of each kind."""
MAX_REPORTS = 5
REPORT_SECONDS = 30.0


class PlatformReport(Struct, frozen=True):
    instance: Identifier
    """The node, or the process."""
    at: Annotated[float, Meta(ge=0, le=9_999_999_999)]
    """In seconds since 1970."""
    lines: Annotated[tuple[LogRecord, ...], Meta(max_length=MAX_RECORDS)] = ()
    samples: Annotated[tuple[MetricSample, ...], Meta(max_length=MAX_RECORDS)] = ()
    lost: Annotated[int, Meta(ge=0)] = 0
    """Lines that were lost since the program has started."""


def make_reports(instance: str, at: float, log: OwnLog, samples: list[MetricSample]) -> list[PlatformReport]:
    """What is reported now. The lines are taken from the log."""
    reports = []
    lines = log.take(MAX_REPORTS * MAX_RECORDS)
    for start in range(0, max(len(lines), len(samples)), MAX_RECORDS):
        part = slice(start, start + MAX_RECORDS)
        reports.append(PlatformReport(instance, at, tuple(lines[part]), tuple(samples[part]), log.lost))
    return reports


encode = msgspec.msgpack.encode
read_report = msgspec.msgpack.Decoder(PlatformReport).decode
