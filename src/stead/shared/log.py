"""Structured logs: one JSON object per line, with an event name and fields. Never sentences or secrets."""

import logging
import sys

import msgspec
import structlog

from stead.shared.own_records import own_log


def configure() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            own_log.process,
            structlog.processors.JSONRenderer(serializer=_serialize),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )


def _serialize(event: object, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()
