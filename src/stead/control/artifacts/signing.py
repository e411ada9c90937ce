"""The installation's signing keys: one signs, those of the past still verify, a removed one does not."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from stead.artifacts.provenance import key_id
from stead.control.platform.database import Tx
from stead.control.platform.sealing import Sealer

_CONTEXT = b"artifacts: signing key "


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str
    private: Ed25519PrivateKey


async def current(tx: Tx, sealer: Sealer) -> SigningKey:
    """Made when it is first needed."""
    await _one_at_a_time(tx)
    found = await _current(tx, sealer)
    return found if found is not None else await _make(tx, sealer)


async def rotate(tx: Tx, sealer: Sealer) -> SigningKey:
    """From now on another one signs; what was signed before stays deployable."""
    await _one_at_a_time(tx)
    await tx.run("update signing_keys set retired_at = $1 where retired_at is null", tx.now)
    return await _make(tx, sealer)


async def remove(tx: Tx, key: str) -> bool:
    """Whatever it signed cannot be deployed any more. False when there is no such key."""
    await _one_at_a_time(tx)
    return await tx.run("delete from signing_keys where id = $1", key) == 1


async def public_keys(tx: Tx) -> tuple[bytes, ...]:
    """All that are believed, the newest first."""
    return tuple(await tx.all(bytes, "select public from signing_keys order by created_at desc, id"))


async def public_key(tx: Tx, key: str) -> Ed25519PublicKey | None:
    raw = await tx.value("select public from signing_keys where id = $1", key)
    return None if raw is None else Ed25519PublicKey.from_public_bytes(raw)


async def _one_at_a_time(tx: Tx) -> None:
    await tx.value("select pg_advisory_xact_lock(hashtext('artifacts.signing_keys'))")


async def _current(tx: Tx, sealer: Sealer) -> SigningKey | None:
    row = await tx.one(lambda *row: row, "select id, sealed from signing_keys where retired_at is null")
    if row is None:
        return None
    id_, sealed = row
    raw = sealer.open(sealed, context=_CONTEXT + id_.encode())
    return SigningKey(id_, Ed25519PrivateKey.from_private_bytes(raw))


async def _make(tx: Tx, sealer: Sealer) -> SigningKey:
    private = Ed25519PrivateKey.generate()
    made = SigningKey(key_id(private.public_key()), private)
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    await tx.run(
        "insert into signing_keys (id, public, sealed, created_at) values ($1, $2, $3, $4)",
        made.id,
        private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
        sealer.seal(raw, context=_CONTEXT + made.id.encode()),
        tx.now,
    )
    return made
