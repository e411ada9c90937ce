"""Builds the edge records of certificates that the edges of a region have, or had."""

import structlog

from stead.control.certificates import store
from stead.control.certificates.progress import key_context
from stead.control.engines.postgres import Tx
from stead.control.sealing import SealBroken, Sealer
from stead.protocol.edge_records import CertificateRecord, EdgeRecord, certificate_key, name_of_host
from stead.shared.edge_keys import keys_from_text, region_key, seal

log = structlog.get_logger()


class CertificateRecords:
    """Without a master key there are no certificates."""

    def __init__(self, sealer: Sealer, master_key: str) -> None:
        self._sealer = sealer
        self._master_key = keys_from_text(master_key)[0] if master_key else None

    async def build(self, tx: Tx, site: str) -> dict[str, EdgeRecord | None]:
        """The records of a site. Their private keys are sealed again, with the current key of the region."""
        if self._master_key is None:
            return {}
        records: dict[str, EdgeRecord | None] = {}
        for found in await store.list_published(tx, site):
            try:
                key = self._sealer.open(found.sealed_key, context=key_context(found.host)).decode()
            except SealBroken:
                # The record that the edges have stays as it is, and all others are published.
                log.error("certificate.unreadable", host=found.host)
                continue
            sealed = seal(region_key(self._master_key, found.region), name_of_host(found.host), key)
            records[certificate_key(found.region, found.host)] = CertificateRecord(found.chain, sealed)
        return records
