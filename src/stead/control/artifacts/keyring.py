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
from stead.control.artifacts import store
from stead.control.engines.postgres import Tx
from stead.control.sealing import Sealer

_CONTEXT = b"artifacts: signing key "


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str
    private: Ed25519PrivateKey


async def current(tx: Tx, sealer: Sealer) -> SigningKey:
    """Made when it is first needed."""
    await store.hold_keys(tx)
    found = await _current(tx, sealer)
    return found if found is not None else await _make(tx, sealer)


async def rotate(tx: Tx, sealer: Sealer) -> SigningKey:
    """From now on another one signs; what was signed before stays deployable."""
    await store.hold_keys(tx)
    await store.retire_key(tx)
    return await _make(tx, sealer)


async def remove(tx: Tx, key: str) -> bool:
    """Whatever it signed cannot be deployed any more. False when there is no such key."""
    await store.hold_keys(tx)
    return await store.delete_key(tx, key)


async def public_keys(tx: Tx) -> tuple[bytes, ...]:
    """All that are believed, the newest first."""
    return tuple(await store.public_keys(tx))


async def public_key(tx: Tx, key: str) -> Ed25519PublicKey | None:
    raw = await store.public_key(tx, key)
    return None if raw is None else Ed25519PublicKey.from_public_bytes(raw)


async def _current(tx: Tx, sealer: Sealer) -> SigningKey | None:
    found = await store.current_key(tx)
    if found is None:
        return None
    id_, sealed = found
    raw = sealer.open(sealed, context=_CONTEXT + id_.encode())
    return SigningKey(id_, Ed25519PrivateKey.from_private_bytes(raw))


async def _make(tx: Tx, sealer: Sealer) -> SigningKey:
    private = Ed25519PrivateKey.generate()
    made = SigningKey(key_id(private.public_key()), private)
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    await store.insert_key(
        tx,
        made.id,
        public=private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
        sealed=sealer.seal(raw, context=_CONTEXT + made.id.encode()),
    )
    return made
