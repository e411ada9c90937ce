"""Rows of API keys. Queries for a caller return only the keys that the caller can see."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import ACCOUNT_COLUMNS, ACCOUNT_JOINS, AccountAttributes, Principal
from stead.control.keys.rules import KeyPrincipalRow, VisibleKey
from stead.control.keys.schema import KeyView
from stead.shared.ids import KeyId

_VISIBLE = """
  account_id = $1
  and ($2 = 'live' or mode = 'test')
  and ($3::text is null or (pin_type, pin_id) = ($3, $4))
"""
"""A test credential sees only test keys. A pinned credential sees only keys with the same pin."""


def _viewer(caller: Principal) -> tuple[str | None, ...]:
    return caller.account_id, caller.mode, caller.pin_type, caller.pin_id


async def find(tx: Tx, caller: Principal, key: str) -> VisibleKey | None:
    return await tx.one(
        VisibleKey,
        "select id, name, mode, last4, scopes, pin_type, pin_id, ip_allowlist, expires_at, last_used_at,"  # noqa: S608
        f" revoked_at, created_at, account_id from api_keys where {_VISIBLE} and id = $5",
        *_viewer(caller),
        key,
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


async def insert(tx: Tx, key: VisibleKey, secret_hash: bytes) -> None:
    await tx.run(
        "insert into api_keys (id, name, mode, last4, scopes, pin_type, pin_id, ip_allowlist, expires_at,"
        " created_at, account_id) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
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
    )
    await _insert_secret(tx, key.id, secret_hash)


async def lock(tx: Tx, caller: Principal, key: VisibleKey) -> VisibleKey:
    """Lock the key until the transaction ends, and return its current state."""
    await tx.value("select id from api_keys where id = $1 for update", key.id)
    return await find(tx, caller, key.id) or key


async def update(tx: Tx, key: VisibleKey, *, name: str | None, scopes: list[str]) -> None:
    await tx.run("update api_keys set name = $2, scopes = $3 where id = $1", key.id, name, scopes)


async def revoke(tx: Tx, key: VisibleKey) -> None:
    await tx.run("update api_keys set revoked_at = coalesce(revoked_at, $2) where id = $1", key.id, tx.now)


async def replace_secret(tx: Tx, key: VisibleKey, secret_hash: bytes, last4: str, until: datetime) -> None:
    """Add a new secret. The current one is valid `until` then; an older one is deleted."""
    await tx.run("delete from api_key_secrets where key_id = $1 and valid_until is not null", key.id)
    await tx.run("update api_key_secrets set valid_until = $2 where key_id = $1", key.id, until)
    await _insert_secret(tx, key.id, secret_hash)
    await tx.run("update api_keys set last4 = $2 where id = $1", key.id, last4)


async def _insert_secret(tx: Tx, key: KeyId, secret_hash: bytes) -> None:
    await tx.run("insert into api_key_secrets (hash, key_id) values ($1, $2)", secret_hash, key)


def _principal(*row: Any) -> KeyPrincipalRow:
    values = [*row[:10], AccountAttributes.read(*row[10:])]
    return KeyPrincipalRow(*values)


async def principal(tx: Tx, secret_hash: bytes) -> KeyPrincipalRow | None:
    return await tx.one(
        _principal,
        "select k.id, k.account_id, k.scopes, k.mode, k.pin_type, k.pin_id, k.ip_allowlist, k.expires_at,"  # noqa: S608
        f" k.revoked_at, s.valid_until, {ACCOUNT_COLUMNS}"
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
