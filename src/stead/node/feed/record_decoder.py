"""Turns stored records into lines for nginx. Only this module decrypts the private keys of certificates."""

from collections.abc import Iterable, Sequence

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
    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys
        self._warned = False

    def lines(self, records: Iterable[StoredRecord]) -> list[RecordLine]:
        """The lines for the records that nginx can use, in order."""
        return [line for record in records if (line := self.line(record, wanted=True)) is not None]

    def line(self, record: StoredRecord, *, brief: bool = False, wanted: bool = False) -> RecordLine | None:
        """The line for a record; None if nginx cannot use it. A brief line of a certificate has only its
        revision: nginx looks up the certificate when a visitor needs it. So do the lines of permanent hosts,
        most of which are never visited, unless nginx has looked it up (`wanted`)."""
        _, kind_name, name = record.key.split(".", 2)
        if kind_name not in _KINDS:
            # A control plane of a later version may send other kinds.
            return None
        kind, decoder = _KINDS[kind_name]
        if record.value is None:
            return RecordLine(kind, name, record.revision)
        if brief and kind == "certificate":
            return RecordLine(kind, name, record.revision, {})
        try:
            value: EdgeRecord | DecryptedCertificate | None = decoder.decode(record.value)
            if isinstance(value, CertificateRecord):
                value = self._decrypt(name, value)
            elif isinstance(value, HostRecord) and value.release and not wanted:
                return RecordLine(kind, name, record.revision, {})
        except (msgspec.MsgspecError, UnsealFailed) as error:
            # nginx stops at a line that it cannot read, and one record must not block all others.
            log.warning("record.unusable", key=record.key, error=type(error).__name__)
            return None
        return None if value is None else RecordLine(kind, name, record.revision, value)

    def _decrypt(self, host: str, sealed: CertificateRecord) -> DecryptedCertificate | None:
        if not self._keys:
            if not self._warned:
                self._warned = True
                log.warning("certificates.skipped", reason="STEAD_EDGE_KEY is not set")
            return None
        return DecryptedCertificate(sealed.chain, unseal(self._keys, host, sealed.sealed_key))
