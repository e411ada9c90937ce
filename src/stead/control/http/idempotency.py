"""A request that is repeated with the same Idempotency-Key gets the same response again.

The response is recorded in the transaction of the request, so a client that lost it can repeat the request.
An advisory lock shows a concurrent duplicate that the first request is still running. A request that waits
for another program, outside its transaction, has a record without a response meanwhile. Recorded responses
are sealed: they may contain a secret that is shown only once.
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
MAX_KEY_LENGTH = 255
IN_FLIGHT = timedelta(minutes=2)
"""Longer than a request may wait for another program. If the process ended meanwhile, the request may be
repeated then."""
HEADER = "Idempotency-Key"


class RecordedResponse(msgspec.Struct):
    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] = []


@dataclass(frozen=True, slots=True)
class RecordKey:
    """Identifies the recorded response of a request."""

    name: bytes
    """Hash of the account, the operation and the Idempotency-Key."""
    digest: bytes
    """Hash of the content. Another content under the same name is an error."""


def record_key(
    principal: Principal, method: str, path: str, key: str, query: bytes, body: bytes
) -> RecordKey:
    if not 0 < len(key) <= MAX_KEY_LENGTH:
        raise FieldInvalid(param=HEADER, reason=f"{HEADER} must have 1 to {MAX_KEY_LENGTH} characters.")
    name = _hash(principal.account_id.encode(), method.encode(), path.encode(), key.encode())
    return RecordKey(name, _hash(query, body, _permissions(principal)))


def _permissions(principal: Principal) -> bytes:
    """A response is replayed only to a credential with exactly the same permissions as the first one."""
    return msgspec.json.encode(
        [
            principal.pin,
            principal.mode,
            sorted(principal.allowed),
            sorted(str(network) for network in principal.networks),
        ]
    )


async def claim(tx: Tx, sealer: Sealer, key: RecordKey) -> RecordedResponse | None:
    """The recorded response, or None for the first request, which must then `record` its response."""
    lock = int.from_bytes(key.name[:8], "big", signed=True)
    if not await tx.value("select pg_try_advisory_xact_lock($1)", lock):
        raise IdempotencyInFlight
    found = await tx.one(
        lambda digest, response, created_at: (digest, response, created_at),
        "select digest, answer, created_at from idempotency_records where name = $1 and created_at > $2",
        key.name,
        tx.now - RETENTION,
    )
    if found is None:
        return None
    digest, response, created_at = found
    if digest != key.digest:
        raise IdempotencyKeyReused
    if not response:
        if created_at > tx.now - IN_FLIGHT:
            raise IdempotencyInFlight
        return None
    return msgspec.msgpack.decode(sealer.open(response, context=key.name), type=RecordedResponse)


async def record(tx: Tx, sealer: Sealer, key: RecordKey, response: RecordedResponse) -> None:
    await _store(tx, key, sealer.seal(msgspec.msgpack.encode(response), context=key.name))


async def begin(tx: Tx, key: RecordKey) -> None:
    """The request goes on after the transaction. Duplicates are refused until `record` or `forget`."""
    await _store(tx, key, b"")


async def forget(tx: Tx, key: RecordKey) -> None:
    """The request failed, and may be repeated."""
    await tx.run("delete from idempotency_records where name = $1 and answer = ''::bytea", key.name)


async def _store(tx: Tx, key: RecordKey, answer: bytes) -> None:
    await tx.run(
        "insert into idempotency_records (name, digest, answer, created_at) values ($1, $2, $3, $4)"
        " on conflict (name) do update set digest = $2, answer = $3, created_at = $4",
        *(key.name, key.digest, answer, tx.now),
    )


async def delete_expired(tx: Tx) -> int:
    """Delete a batch of old records. Skips those that another worker is deleting."""
    return await tx.run(
        "delete from idempotency_records where name in (select name from idempotency_records"
        " where created_at <= $1 order by created_at limit 1000 for update skip locked)",
        tx.now - RETENTION,
    )


def _hash(*parts: bytes) -> bytes:
    """Hash each part with its length, so that two different lists of parts never have the same input."""
    total = sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.digest()
