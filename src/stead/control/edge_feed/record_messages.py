"""Edge records as messages of the NATS bucket."""

from typing import NamedTuple

from stead.control.engines.nats import MESSAGE_TTL
from stead.protocol.edge_records import (
    DELETIONS_KEPT_SECONDS,
    PURGES_KEPT_SECONDS,
    SUPERSEDED_KEPT_SECONDS,
    EdgeRecord,
    PurgeRecord,
    bucket_subject,
    encode,
    is_purge_key,
)

OPERATION, _DELETE = "KV-Operation", "DEL"


class EdgeMessage(NamedTuple):
    subject: str
    data: bytes
    headers: dict[str, str]


def message_of(key: str, record: EdgeRecord | None) -> EdgeMessage:
    """None deletes a record."""
    return EdgeMessage(bucket_subject(key), b"" if record is None else encode(record), _headers(key, record))


def _headers(key: str, record: EdgeRecord | None) -> dict[str, str]:
    match record:
        case None:
            kept = SUPERSEDED_KEPT_SECONDS if is_purge_key(key) else DELETIONS_KEPT_SECONDS
            return {OPERATION: _DELETE, MESSAGE_TTL: str(kept)}
        case PurgeRecord():
            return {MESSAGE_TTL: str(PURGES_KEPT_SECONDS)}
        case _:
            return {}
