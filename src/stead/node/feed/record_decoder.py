"""From a stored record to what nginx is told; the one place where the key of a certificate is opened."""

from collections.abc import Iterable

import msgspec
import structlog

from stead.node.feed.record_store import StoredRecord
from stead.protocol.edge_records import (
    CertificateRecord,
    ChallengeRecord,
    DecryptedCertificate,
    EdgeRecord,
    EnvironmentRecord,
    HostRecord,
    PeerRecord,
    PurgeRecord,
    RecordKind,
    RecordLine,
    RedirectsRecord,
)
from stead.shared.edge_keys import UnsealFailed, unseal

_KINDS: dict[str, tuple[RecordKind, msgspec.json.Decoder[EdgeRecord]]] = {
    "host": ("host", msgspec.json.Decoder(HostRecord)),
    "environment": ("environment", msgspec.json.Decoder(EnvironmentRecord)),
    "redirects": ("redirects", msgspec.json.Decoder(RedirectsRecord)),
    "certificate": ("certificate", msgspec.json.Decoder(CertificateRecord)),
    "challenge": ("challenge", msgspec.json.Decoder(ChallengeRecord)),
    "purge": ("purge", msgspec.json.Decoder(PurgeRecord)),
    "node": ("node", msgspec.json.Decoder(PeerRecord)),
}

log = structlog.get_logger()


class RecordDecoder:
    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._lamented = False

    def lines(self, records: Iterable[StoredRecord]) -> list[RecordLine]:
        """Those nginx can use, in their order."""
        return [line for record in records if (line := self._line(record)) is not None]

    def _line(self, record: StoredRecord) -> RecordLine | None:
        _, word, name = record.key.split(".", 2)
        if word not in _KINDS:
            # The control plane may be newer than this node.
            return None
        kind, decoder = _KINDS[word]
        if record.value is None:
            return RecordLine(kind, name, record.revision)
        try:
            value: EdgeRecord | DecryptedCertificate | None = decoder.decode(record.value)
            if isinstance(value, CertificateRecord):
                value = self._opened(name, value)
        except (msgspec.MsgspecError, UnsealFailed) as error:
            # nginx stops at a line it cannot read, and one record must not stand in the way of all others.
            log.warning("record.unusable", key=record.key, error=type(error).__name__)
            return None
        return None if value is None else RecordLine(kind, name, record.revision, value)

    def _opened(self, host: str, sealed: CertificateRecord) -> DecryptedCertificate | None:
        if self._key is None:
            if not self._lamented:
                self._lamented = True
                log.warning("certificates.skipped", reason="STEAD_EDGE_KEY is not set")
            return None
        return DecryptedCertificate(sealed.chain, unseal(self._key, host, sealed.sealed_key))
