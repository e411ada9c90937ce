"""An edge that is told without a feed: nginx hears of it at once, and it lies on disk besides.

So a worker in another process tells the same edge, and a test can look at what it was told.
"""

import base64
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from stead.control.certificates.edges import EdgesSilent
from stead.control.sealing import Sealer
from stead.edge.admin import Admin
from stead.protocol.edge import Certificate, Line, Record

REGION_KEY = bytes(range(32))


def _revision() -> int:
    return time.time_ns() // 100_000


class FileDoor:
    """`deaf` edges apply nothing, though they say so; `silent` ones do not even say so."""

    def __init__(self, data: Path) -> None:
        self._admin = data / "run" / "private" / "admin.sock"
        self._certificates = data.parent / "told" / "certificates"
        self._challenges = data.parent / "told" / "challenges"
        for place in (self._certificates, self._challenges):
            place.mkdir(parents=True, exist_ok=True)
        self.told: list[str] = []
        self.keys: list[bytes] = []
        self.deaf = self.silent = False

    async def tell(self, region: str, records: Mapping[str, Record | None]) -> None:
        if self.silent:
            raise EdgesSilent
        for key, record in records.items():
            assert key.startswith(f"{region}.")
            self.told.append(key)
            if not self.deaf:
                await self._apply(key, record)

    async def _apply(self, key: str, record: Record | None) -> None:
        _, kind, name = key.split(".", 2)
        place = (self._challenges if kind == "challenge" else self._certificates) / name
        if record is None:
            place.unlink(missing_ok=True)
        else:
            place.write_bytes(msgspec.json.encode(record))
        value: object = record
        if isinstance(record, Certificate):
            value = {"chain": record.chain, "key": self.key_of(key.partition(".")[0], name).decode()}
        async with Admin(self._admin) as admin:
            await admin.apply(
                [Line("challenge" if kind == "challenge" else "certificate", name, _revision(), value)]
            )

    def seal(self, region: str, host: str, key: bytes) -> str:
        self.keys.append(key)
        sealed = Sealer(REGION_KEY).seal(key, context=f"{region}/{host}".encode())
        return base64.b64encode(sealed).decode()

    def challenges(self) -> list[str]:
        return [found.name for found in self._challenges.iterdir()]

    def certificate(self, host: str) -> Certificate | None:
        place = self._certificates / host
        return msgspec.json.decode(place.read_bytes(), type=Certificate) if place.exists() else None

    def key_of(self, region: str, host: str) -> bytes:
        found = self.certificate(host)
        assert found is not None
        return Sealer(REGION_KEY).open(
            base64.b64decode(found.sealed_key), context=f"{region}/{host}".encode()
        )
