"""From a stored record to what nginx is told; the one place where the key of a certificate is opened."""

from collections.abc import Iterable

import msgspec
import structlog

from stead.node.feed.store import Stored
from stead.protocol.edge import (
    Certificate,
    Challenge,
    Environment,
    Host,
    Kind,
    Line,
    OpenCertificate,
    Peer,
    Purge,
    Record,
    Redirects,
)
from stead.shared.edge_keys import UnsealFailed, unseal

_KINDS: dict[str, tuple[Kind, msgspec.json.Decoder[Record]]] = {
    "host": ("host", msgspec.json.Decoder(Host)),
    "environment": ("environment", msgspec.json.Decoder(Environment)),
    "redirects": ("redirects", msgspec.json.Decoder(Redirects)),
    "certificate": ("certificate", msgspec.json.Decoder(Certificate)),
    "challenge": ("challenge", msgspec.json.Decoder(Challenge)),
    "purge": ("purge", msgspec.json.Decoder(Purge)),
    "node": ("node", msgspec.json.Decoder(Peer)),
}

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
        if word not in _KINDS:
            # The control plane may be newer than this node.
            return None
        kind, decoder = _KINDS[word]
        if record.value is None:
            return Line(kind, name, record.revision)
        try:
            value: Record | OpenCertificate | None = decoder.decode(record.value)
            if isinstance(value, Certificate):
                value = self._opened(name, value)
        except (msgspec.MsgspecError, UnsealFailed) as error:
            # nginx stops at a line it cannot read, and one record must not stand in the way of all others.
            log.warning("record.unusable", key=record.key, error=type(error).__name__)
            return None
        return None if value is None else Line(kind, name, record.revision, value)

    def _opened(self, host: str, sealed: Certificate) -> OpenCertificate | None:
        if self._key is None:
            if not self._lamented:
                self._lamented = True
                log.warning("certificates.skipped", reason="STEAD_EDGE_KEY is not set")
            return None
        return OpenCertificate(sealed.chain, unseal(self._key, host, sealed.sealed_key))
