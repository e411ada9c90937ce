"""A publisher that needs no edge feed: it updates nginx directly and keeps the records on disk.

A worker in another process can update the same edge, and a test can read what was published.
"""

import base64
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from stead.control.certificates.edge_publisher import EdgesNotUpdated
from stead.control.sealing import Sealer
from stead.edge.admin import EdgeAdmin
from stead.protocol.edge_records import CertificateRecord, EdgeRecord, RecordLine

REGION_KEY = bytes(range(32))


def _revision() -> int:
    return time.time_ns() // 100_000


class FilePublisher:
    """`ignoring` edges confirm records without applying them; `unavailable` edges confirm nothing."""

    def __init__(self, data: Path) -> None:
        self._admin = data / "run" / "private" / "admin.sock"
        self._certificates = data.parent / "published" / "certificates"
        self._challenges = data.parent / "published" / "challenges"
        for directory in (self._certificates, self._challenges):
            directory.mkdir(parents=True, exist_ok=True)
        self.published: list[str] = []
        self.keys: list[bytes] = []
        self.ignoring = self.unavailable = False

    async def publish(
        self, region: str, records: Mapping[str, EdgeRecord | None], *, version: int | None = None
    ) -> None:
        del version  # only one worker publishes at a time
        if self.unavailable:
            raise EdgesNotUpdated
        for key, record in records.items():
            assert key.startswith(f"{region}.")
            self.published.append(key)
            if not self.ignoring:
                await self._apply(key, record)

    async def _apply(self, key: str, record: EdgeRecord | None) -> None:
        _, kind, name = key.split(".", 2)
        path = (self._challenges if kind == "challenge" else self._certificates) / name
        if record is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(msgspec.json.encode(record))
        value: object = record
        if isinstance(record, CertificateRecord):
            value = {"chain": record.chain, "key": self.open_key(key.partition(".")[0], name).decode()}
        async with EdgeAdmin(self._admin) as admin:
            await admin.apply(
                [RecordLine("challenge" if kind == "challenge" else "certificate", name, _revision(), value)]
            )

    def seal_key(self, region: str, host: str, key: bytes) -> str:
        self.keys.append(key)
        sealed = Sealer(REGION_KEY).seal(key, context=f"{region}/{host}".encode())
        return base64.b64encode(sealed).decode()

    def challenges(self) -> list[str]:
        return [found.name for found in self._challenges.iterdir()]

    def certificate(self, host: str) -> CertificateRecord | None:
        path = self._certificates / host
        return msgspec.json.decode(path.read_bytes(), type=CertificateRecord) if path.exists() else None

    def open_key(self, region: str, host: str) -> bytes:
        found = self.certificate(host)
        assert found is not None
        return Sealer(REGION_KEY).open(
            base64.b64decode(found.sealed_key), context=f"{region}/{host}".encode()
        )
