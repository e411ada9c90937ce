"""Rows of API keys. Queries for a caller return only the keys that the caller can see."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import ACCOUNT_COLUMNS, ACCOUNT_JOINS, AccountAttributes, Principal
from stead.control.keys.rules import KeyPrincipalRow, VisibleKey
from stead.control.keys.schema import KeyView
from stead.shared.ids import AccountId, KeyId

_VISIBLE = """
  account_id = $1
  and ($2 = 'live' or mode = 'test')
  and ($3::text is null or (pin_type, pin_id) = ($3, $4))
"""
"""A test credential sees only test keys. A pinned credential sees only keys with the same pin."""


_VISIBLE_KEY = (
    "select id, name, mode, last4, scopes, pin_type, pin_id, ip_allowlist, expires_at, last_used_at,"
    " revoked_at, created_at, account_id from api_keys"
)


def _viewer(caller: Principal) -> tuple[str | None, ...]:
    return caller.account_id, caller.mode, caller.pin_type, caller.pin_id


async def find(tx: Tx, caller: Principal, key: str) -> VisibleKey | None:
    return await tx.one(
        VisibleKey,
        f"{_VISIBLE_KEY} where {_VISIBLE} and id = $5",
        *_viewer(caller),
        key,
    )


async def get(tx: Tx, account: AccountId, key: str) -> VisibleKey | None:
    return await tx.one(
        VisibleKey,
        f"{_VISIBLE_KEY} where account_id = $1 and id = $2",
        *(account, key),
    )


async def page(tx: Tx, caller: Principal, request: PageRequest) -> Page[KeyView]:
    return await request.fetch(
        tx,
        KeyView,
        "select id, name, 'stead_' || mode, last4, scopes,"  # noqa: S608
        " case when pin_id is not null then jsonb_build_object('type', pin_type, 'id', pin_id) end,"
        " ip_allowlist, expires_at, last_used_at, revoked_at, created_at"
        f" from api_keys where {_VISIBLE} and id < $5 order by id desc limit $6",
        *_viewer(caller),
    )


async def lock_keys(tx: Tx, keys: Iterable[str]) -> bool:
    """Keep these keys from being revoked until the transaction ends. False if one is revoked already.

    They are locked in one order everywhere, so that transactions do not wait for each other in a circle.
    """
    wanted = set(keys)
    sql = "select id from api_keys where id = any($1) and revoked_at is null order by id for no key update"
    return len(await tx.all(str, sql, list(wanted))) == len(wanted)


async def insert(
    tx: Tx, key: VisibleKey, secret_hash: bytes, *, minter: str | None, depends_on: Sequence[str]
) -> None:
    """`minter` is the key that creates it; None for a session. `depends_on`: see `_insert_secret`."""
    await tx.run(
        "insert into api_keys (id, name, mode, last4, scopes, pin_type, pin_id, ip_allowlist, expires_at,"
        " created_at, account_id, minted_by) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        key.id,
        key.name,
        key.mode,
        key.last4,
        key.scopes,
        key.pin_type,
        key.pin_id,
        key.ip_allowlist,
        key.expires_at,
        key.created_at,
        key.account_id,
        minter,
    )
    await _insert_secret(tx, key.id, secret_hash, depends_on)


async def get_current(tx: Tx, caller: Principal, key: VisibleKey) -> VisibleKey:
    return await find(tx, caller, key.id) or key


async def lock(tx: Tx, caller: Principal, key: VisibleKey) -> VisibleKey:
    """Lock the key until the transaction ends, and return its current state."""
    await tx.value("select id from api_keys where id = $1 for update", key.id)
    return await get_current(tx, caller, key)


async def update(tx: Tx, key: VisibleKey, *, name: str | None, scopes: list[str]) -> None:
    await tx.run("update api_keys set name = $2, scopes = $3 where id = $1", key.id, name, scopes)


async def revoke_families(tx: Tx, keys: Sequence[str]) -> list[KeyId]:
    """Revoke these keys and the keys that they created, directly or through others. Returns those it
    revoked."""
    found = await tx.all(
        KeyId,
        "with recursive family as (select id from api_keys where id = any($1)"
        " union select k.id from api_keys k join family f on k.minted_by = f.id)"
        " select id from api_keys where id in (select id from family) and revoked_at is null"
        " order by id for no key update",
        list(keys),
    )
    await tx.run("update api_keys set revoked_at = $2 where id = any($1)", found, tx.now)
    return found


async def revoke_all(tx: Tx, account: AccountId) -> list[str]:
    """Returns the keys that were revoked."""
    found = await tx.all(
        str,
        "select id from api_keys where account_id = $1 and revoked_at is null order by id for no key update",
        account,
    )
    await tx.run("update api_keys set revoked_at = $2 where id = any($1)", found, tx.now)
    return found


async def end_dependent_secrets(tx: Tx, account: AccountId, keys: Sequence[str]) -> list[str]:
    """End the secrets that were obtained through these keys. Returns the keys that have lost one."""
    return await tx.all(
        str,
        "update api_key_secrets s set valid_until = $3 from api_keys k"
        " where k.id = s.key_id and k.account_id = $1 and k.revoked_at is null and s.depends_on && $2"
        " and (s.valid_until is null or s.valid_until > $3) returning k.id",
        *(account, list(keys), tx.now),
    )


async def without_secret(tx: Tx, keys: Sequence[str]) -> list[str]:
    """Those of the keys that nobody can use any more, because every secret has ended."""
    return await tx.all(
        str,
        "select k.id from api_keys k where k.id = any($1) and not exists (select from api_key_secrets s"
        " where s.key_id = k.id and (s.valid_until is null or s.valid_until > $2))",
        *(list(keys), tx.now),
    )


async def replace_secret(
    tx: Tx, key: VisibleKey, secret_hash: bytes, last4: str, *, until: datetime, depends_on: Sequence[str]
) -> None:
    """Add a new secret. The current one is valid `until` then; an older one is deleted.

    If the current one has ended early, the older one is the newest that works: it keeps its time.
    """
    await tx.run(
        "delete from api_key_secrets where key_id = $1 and valid_until is not null and (valid_until <= $2"
        " or exists (select from api_key_secrets c where c.key_id = $1 and c.valid_until is null))",
        *(key.id, tx.now),
    )
    await tx.run(
        "update api_key_secrets set valid_until = $2 where key_id = $1 and valid_until is null",
        *(key.id, until),
    )
    await _insert_secret(tx, key.id, secret_hash, depends_on)
    await tx.run("update api_keys set last4 = $2 where id = $1", key.id, last4)


async def _insert_secret(tx: Tx, key: KeyId, secret_hash: bytes, depends_on: Sequence[str]) -> None:
    """`depends_on`: the keys through which the caller obtains it. Revoking one of them ends it."""
    await tx.run(
        "insert into api_key_secrets (hash, key_id, depends_on) values ($1, $2, $3)",
        *(secret_hash, key, list(depends_on)),
    )


def _principal(*row: Any) -> KeyPrincipalRow:
    values = [*row[:11], AccountAttributes.read(*row[11:])]
    return KeyPrincipalRow(*values)


async def principal(tx: Tx, secret_hash: bytes) -> KeyPrincipalRow | None:
    return await tx.one(
        _principal,
        "select k.id, k.account_id, k.scopes, k.mode, k.pin_type, k.pin_id, k.ip_allowlist, k.expires_at,"  # noqa: S608
        f" k.revoked_at, s.valid_until, s.depends_on, {ACCOUNT_COLUMNS}"
        " from api_key_secrets s join api_keys k on k.id = s.key_id"
        f" join accounts a on a.id = k.account_id {ACCOUNT_JOINS} where s.hash = $1",
        secret_hash,
        tx.now,
    )


async def record_use(tx: Tx, keys: Sequence[str], times: Sequence[datetime]) -> None:
    await tx.run(
        "update api_keys k set last_used_at = used.at"
        " from unnest($1::text[], $2::timestamptz[]) as used (id, at)"
        " where k.id = used.id and (k.last_used_at is null or k.last_used_at < used.at)",
        keys,
        times,
    )
