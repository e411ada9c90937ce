"""The smallest edge there is: challenges are files that nginx serves, certificates are files beside them.

Everything lies on disk, so that a worker in another process tells the same edge.
"""

import base64
from collections.abc import Mapping
from pathlib import Path

import msgspec

from stead.control.certificates.edges import EdgesSilent
from stead.control.platform.sealing import Sealer
from stead.protocol.edge import Certificate, Challenge, Record

PLACE = Path(".well-known") / "acme-challenge"
REGION_KEY = bytes(range(32))


class FileDoor:
    """`deaf` edges apply nothing, though they say so; `silent` ones do not even say so."""

    def __init__(self, hosts: Path) -> None:
        self._hosts = hosts
        self._certificates = hosts.parent / "certificates"
        self._certificates.mkdir(parents=True, exist_ok=True)
        hosts.mkdir(exist_ok=True)
        hosts.parent.chmod(0o755)
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
                self._apply(key, record)

    def _apply(self, key: str, record: Record | None) -> None:
        _, kind, name = key.split(".", 2)
        if isinstance(record, Challenge):
            place = self._hosts / record.host / PLACE
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(record.answer)
        elif isinstance(record, Certificate):
            (self._certificates / name).write_bytes(msgspec.json.encode(record))
        elif kind == "challenge":
            for left in self._hosts.glob(f"*/{PLACE}/{name}"):
                left.unlink()
        else:
            (self._certificates / name).unlink(missing_ok=True)

    def seal(self, region: str, host: str, key: bytes) -> str:
        self.keys.append(key)
        sealed = Sealer(REGION_KEY).seal(key, context=f"{region}/{host}".encode())
        return base64.b64encode(sealed).decode()

    def challenges(self) -> list[str]:
        return [found.name for found in self._hosts.glob(f"*/{PLACE}/*")]

    def certificate(self, host: str) -> Certificate | None:
        place = self._certificates / host
        return msgspec.json.decode(place.read_bytes(), type=Certificate) if place.exists() else None

    def key_of(self, region: str, host: str) -> bytes:
        found = self.certificate(host)
        assert found is not None
        return Sealer(REGION_KEY).open(
            base64.b64decode(found.sealed_key), context=f"{region}/{host}".encode()
        )
