"""From a stored record to what nginx is told; the one place where the key of a certificate is opened."""

from collections.abc import Iterable
from typing import Any, get_args

import msgspec
import structlog

from stead.node.feed.store import Stored
from stead.protocol.edge import Kind, Line, OpenCertificate, decode_certificate
from stead.shared.edge_keys import SealBroken, unseal

_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}

log = structlog.get_logger()


class Wording:
    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._lamented = False

    def lines(self, records: Iterable[Stored]) -> list[Line]:
        """Those nginx can use, in their order."""
        return [line for record in records if (line := self._line(record)) is not None]

    def _line(self, record: Stored) -> Line | None:
        _, word, name = record.key.split(".", 2)
        kind = _KINDS.get(word)
        if kind is None:
            # The control plane may be newer than this node.
            return None
        if record.value is None:
            return Line(kind, name, record.revision)
        try:
            value = self._opened(name, record.value) if kind == "certificate" else _plain(record.value)
        except (msgspec.MsgspecError, SealBroken) as error:
            log.warning("record.unusable", key=record.key, error=type(error).__name__)
            return None
        return None if value is None else Line(kind, name, record.revision, value)

    def _opened(self, host: str, value: bytes) -> OpenCertificate | None:
        if self._key is None:
            if not self._lamented:
                self._lamented = True
                log.warning("certificates.skipped", reason="STEAD_EDGE_KEY is not set")
            return None
        sealed = decode_certificate(value)
        return OpenCertificate(sealed.chain, unseal(self._key, host, sealed.sealed_key))


def _plain(value: bytes) -> Any:
    return msgspec.json.decode(value)
