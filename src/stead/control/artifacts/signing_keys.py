"""The signing keys of the installation: one signs; retired ones still verify; a removed one does not."""

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


def key_context(key: str) -> bytes:
    """The sealing context of a signing key."""
    return b"artifacts: signing key " + key.encode()


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str
    private: Ed25519PrivateKey


async def get_or_create(tx: Tx, sealer: Sealer) -> SigningKey:
    """The key that signs. It is created when it is first needed."""
    await store.lock_keys(tx)
    found = await _find_current(tx, sealer)
    return found if found is not None else await _create(tx, sealer)


async def rotate(tx: Tx, sealer: Sealer) -> SigningKey:
    """Sign with a new key from now on. Artifacts that were signed before stay deployable."""
    await store.lock_keys(tx)
    await store.retire_key(tx)
    return await _create(tx, sealer)


async def remove(tx: Tx, key: str) -> bool:
    """Artifacts that the key signed cannot be deployed any more. Returns False when there is no such key."""
    await store.lock_keys(tx)
    return await store.delete_key(tx, key)


async def list_public_keys(tx: Tx) -> tuple[bytes, ...]:
    """All trusted keys, the newest first."""
    return tuple(await store.list_public_keys(tx))


async def find_public_key(tx: Tx, key: str) -> Ed25519PublicKey | None:
    raw = await store.find_public_key(tx, key)
    return None if raw is None else Ed25519PublicKey.from_public_bytes(raw)


async def _find_current(tx: Tx, sealer: Sealer) -> SigningKey | None:
    found = await store.find_current_key(tx)
    if found is None:
        return None
    id_, sealed = found
    raw = sealer.open(sealed, context=key_context(id_))
    return SigningKey(id_, Ed25519PrivateKey.from_private_bytes(raw))


async def _create(tx: Tx, sealer: Sealer) -> SigningKey:
    private = Ed25519PrivateKey.generate()
    key = SigningKey(key_id(private.public_key()), private)
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    await store.insert_key(
        tx,
        key.id,
        public=private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
        sealed=sealer.seal(raw, context=key_context(key.id)),
    )
    return key
