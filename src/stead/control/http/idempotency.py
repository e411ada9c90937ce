"""A POST repeated with its Idempotency-Key answers as it did the first time.

The answer commits together with its effect, so whoever lost the answer can ask again; an advisory lock, which
ends with the transaction, tells a twin that the first is still at work. Answers may hold a secret that is
shown once: they are sealed.
"""

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Principal
from stead.control.sealing import Sealer
from stead.shared.errors import FieldInvalid, IdempotencyInFlight, IdempotencyKeyReused

RETENTION = timedelta(hours=24)
LONGEST_KEY = 255
HEADER = "Idempotency-Key"


class Recorded(msgspec.Struct):
    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] = []


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one request's answer: who asked for what under which key, and with which content."""

    name: bytes
    digest: bytes


def slot(principal: Principal, method: str, path: str, key: str, query: bytes, body: bytes) -> Slot:
    if not 0 < len(key) <= LONGEST_KEY:
        raise FieldInvalid(param=HEADER, reason=f"{HEADER} has 1 to {LONGEST_KEY} characters.")
    name = _hash(principal.account_id.encode(), method.encode(), path.encode(), key.encode())
    return Slot(name, _hash(query, body, _power(principal)))


def _power(principal: Principal) -> bytes:
    """An answer is replayed only to a credential that may do exactly what the first one might."""
    return msgspec.json.encode(
        [
            principal.pin,
            principal.mode,
            sorted(principal.allowed),
            sorted(str(network) for network in principal.networks),
        ]
    )


async def claim(tx: Tx, sealer: Sealer, place: Slot) -> Recorded | None:
    """The recorded answer, or None for whoever is first and must now `record` its own."""
    lock = int.from_bytes(place.name[:8], "big", signed=True)
    if not await tx.value("select pg_try_advisory_xact_lock($1)", lock):
        raise IdempotencyInFlight
    found = await tx.one(
        lambda digest, answer: (digest, answer),
        "select digest, answer from idempotency_records where name = $1 and created_at > $2",
        place.name,
        tx.now - RETENTION,
    )
    if found is None:
        return None
    digest, answer = found
    if digest != place.digest:
        raise IdempotencyKeyReused
    return msgspec.msgpack.decode(sealer.open(answer, context=place.name), type=Recorded)


async def record(tx: Tx, sealer: Sealer, place: Slot, answer: Recorded) -> None:
    await tx.run(
        "insert into idempotency_records (name, digest, answer, created_at) values ($1, $2, $3, $4)"
        " on conflict (name) do update set digest = $2, answer = $3, created_at = $4",
        place.name,
        place.digest,
        sealer.seal(msgspec.msgpack.encode(answer), context=place.name),
        tx.now,
    )


async def forget_old(tx: Tx) -> int:
    return await tx.run(
        "delete from idempotency_records where name in"
        " (select name from idempotency_records where created_at <= $1 limit 1000)",
        tx.now - RETENTION,
    )


def _hash(*parts: bytes) -> bytes:
    """Each part is hashed with its length, so that no two lists of parts look alike."""
    whole = sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.digest()
