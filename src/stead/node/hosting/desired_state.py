"""What each environment of this node should be, in a table that survives every restart.

The node can bring all environments back from it, without the control plane. Secrets are sealed with a key
that is derived from the private key of the node, which is not on the same disk.
"""

import time
from pathlib import Path
from secrets import token_bytes
from typing import Generic, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from stead.node.sqlite import create_once, open_database, transaction

VERSION = 1
FIRST_SLOT = 1024
"""The ranges of users before it belong to builds."""
_NONCE_BYTES = 12

_TABLES = """
create table environments (
    environment text primary key,
    site text not null,
    slot integer not null unique,
    spec blob not null,
    sealed blob not null,
    suspended integer not null default 0,
    changed_at real not null
) strict, without rowid
"""

Spec = TypeVar("Spec", bound=msgspec.Struct)
Secrets = TypeVar("Secrets", bound=msgspec.Struct)


class SecretsUnreadable(Exception):
    """The secrets were sealed with another key of the node, or were changed."""


class DesiredEnvironment(msgspec.Struct, Generic[Spec, Secrets], frozen=True):
    environment: str
    site: str
    slot: int
    """Which range of users its processes and files have. No other environment of the node has it."""
    spec: Spec
    secrets: Secrets
    suspended: bool = False


class DesiredState(Generic[Spec, Secrets]):
    """The environments of one runtime. `spec` and `secrets` are the types of what the runtime stores."""

    def __init__(self, file: Path, spec: type[Spec], secrets: type[Secrets], private_key: bytes) -> None:
        self._spec, self._secrets = msgspec.msgpack.Decoder(spec), msgspec.msgpack.Decoder(secrets)
        kdf = HKDF(SHA256(), 32, salt=None, info=b"stead desired state")
        self._cipher = ChaCha20Poly1305(kdf.derive(private_key))
        self._database = open_database(file, check_same_thread=False)
        create_once(self._database, _TABLES, VERSION)
        self._known: dict[str, Spec] | None = None
        """What `specs` returns. Only this object changes the table, and heartbeats ask every few seconds."""

    def close(self) -> None:
        self._database.close()

    def find(self, environment: str) -> DesiredEnvironment[Spec, Secrets] | None:
        row = self._database.execute(
            "select environment, site, slot, spec, sealed, suspended from environments where environment = ?",
            (environment,),
        ).fetchone()
        return self._read(row) if row else None

    def specs(self) -> dict[str, Spec]:
        """What all environments should be, without their secrets. Read from the disk once."""
        if self._known is None:
            rows = self._database.execute("select environment, spec from environments order by environment")
            self._known = {name: self._spec.decode(spec) for name, spec in rows}
        return dict(self._known)

    def find_spec(self, environment: str) -> Spec | None:
        row = self._database.execute(
            "select spec from environments where environment = ?", (environment,)
        ).fetchone()
        return self._spec.decode(row[0]) if row else None

    def names(self) -> list[str]:
        rows = self._database.execute("select environment from environments order by environment")
        return [name for (name,) in rows]

    def list_active(self) -> dict[str, float]:
        """The environments that are not suspended, and when each was last changed, in seconds since 1970."""
        rows = self._database.execute("select environment, changed_at from environments where not suspended")
        return dict(rows.fetchall())

    def put(
        self, environment: str, site: str, spec: Spec, secrets: Secrets, *, suspended: bool = False
    ) -> None:
        """Store what the environment should be. It keeps its range of users."""
        encoded, sealed = msgspec.msgpack.encode(spec), self._seal(environment, secrets)
        with transaction(self._database):
            self._database.execute(
                "insert into environments (environment, site, slot, spec, sealed, suspended, changed_at)"
                " values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (environment) do update"
                " set spec = ?4, sealed = ?5, suspended = ?6, changed_at = ?7",
                (environment, site, self._free_slot(), encoded, sealed, suspended, time.time()),
            )
        if self._known is not None:
            self._known[environment] = spec

    def set_suspended(self, environment: str, *, suspended: bool) -> None:
        self._database.execute(
            "update environments set suspended = ?, changed_at = ? where environment = ?",
            (suspended, time.time(), environment),
        )

    def remove(self, environment: str) -> None:
        self._database.execute("delete from environments where environment = ?", (environment,))
        if self._known is not None:
            self._known.pop(environment, None)

    def _free_slot(self) -> int:
        row = self._database.execute(
            "with candidates as (select ? as slot union all select slot + 1 from environments)"
            " select min(slot) from candidates where slot not in (select slot from environments)",
            (FIRST_SLOT,),
        ).fetchone()
        return int(row[0])

    def _read(self, row: tuple[str, str, int, bytes, bytes, int]) -> DesiredEnvironment[Spec, Secrets]:
        environment, site, slot, spec, sealed, suspended = row
        try:
            opened = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], environment.encode())
        except InvalidTag:
            raise SecretsUnreadable(environment) from None
        return DesiredEnvironment(
            environment,
            site,
            slot,
            self._spec.decode(spec),
            self._secrets.decode(opened),
            suspended=bool(suspended),
        )

    def _seal(self, environment: str, secrets: Secrets) -> bytes:
        nonce = token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, msgspec.msgpack.encode(secrets), environment.encode())
