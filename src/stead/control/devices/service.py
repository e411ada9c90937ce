"""Use cases of device authorizations.

A device asks for a code, a person who has signed in approves it, and the device collects a key. The key is
made when it is collected, so that its secret is never stored.
"""

import secrets
from dataclasses import dataclass
from hashlib import sha256

from stead.control.accounts import service as accounts
from stead.control.accounts.rules import Account
from stead.control.devices import store
from stead.control.devices.rules import (
    KEY_DAYS,
    LIFETIME,
    REPEATABLE,
    DeviceAuthorization,
    DeviceCodeNotFound,
    DeviceDenied,
    DeviceExpired,
    DevicePending,
    SessionRequired,
    Status,
    new_user_code,
    normalize_user_code,
)
from stead.control.devices.schema import DeviceTokenView, NewDeviceAuthorization
from stead.control.engines.postgres import Tx
from stead.control.http.client_address import network_of, wide_network_of
from stead.control.http.principal import Address, Principal
from stead.control.http.rate_limits import Limiter
from stead.control.keys import service as keys
from stead.control.keys.schema import NewKey
from stead.shared import scopes
from stead.shared.errors import FieldInvalid, RateLimitExceeded
from stead.shared.ids import AccountId, new_id

STARTS_PER_MINUTE_AND_NETWORK = 10
STARTS_PER_MINUTE_AND_PROVIDER = 100
"""From the networks of one customer of a provider, so that nobody takes what all share."""
STARTS_PER_MINUTE = 6000
POLLS_PER_MINUTE_AND_DEVICE = 20
POLLS_PER_MINUTE_AND_NETWORK = 120
LOOKUPS_PER_MINUTE_AND_ACCOUNT = 60
"""Codes that one person tries."""
BATCH_SIZE = 500
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Started:
    device_code: str
    authorization: DeviceAuthorization


async def start(tx: Tx, limiter: Limiter, wanted: NewDeviceAuthorization, address: Address) -> Started:
    network = network_of(address)
    await _spend(
        limiter,
        (f"device:from:{network}", STARTS_PER_MINUTE_AND_NETWORK),
        (f"device:near:{wide_network_of(address)}", STARTS_PER_MINUTE_AND_PROVIDER),
        ("device:all", STARTS_PER_MINUTE),
    )
    asked = wanted.scopes or [scopes.EVERYTHING]
    for at, scope in enumerate(asked):
        if scope not in scopes.GRANTABLE:
            raise FieldInvalid(param=f"scopes.{at}", reason="There is no such scope.")
    device_code = secrets.token_urlsafe(32)
    for _ in range(_ATTEMPTS):
        new = DeviceAuthorization(
            id=new_id("dev"),
            user_code=new_user_code(),
            machine_name=wanted.machine_name,
            scopes=asked,
            network=network,
            status="pending",
            account_id=None,
            password_mark=None,
            key_id=None,
            redeemed_at=None,
            created_at=tx.now,
            expires_at=tx.now + LIFETIME,
        )
        if await store.insert(tx, new, _digest(device_code)):
            return Started(device_code, new)
    raise RateLimitExceeded(seconds=int(LIFETIME.total_seconds()))


async def find(tx: Tx, limiter: Limiter, account: AccountId, user_code: str) -> DeviceAuthorization:
    """What waits for an approval. Attempts are counted, so that nobody finds codes of others."""
    await limit_lookups(limiter, account)
    found = await store.find_pending(tx, normalize_user_code(user_code))
    if found is None:
        raise DeviceCodeNotFound
    return found


async def approve(tx: Tx, caller: Principal, user_code: str) -> None:
    await _decide(tx, caller, user_code, "approved")


async def deny(tx: Tx, caller: Principal, user_code: str) -> None:
    await _decide(tx, caller, user_code, "denied")


async def collect(tx: Tx, device_code: str) -> DeviceTokenView:
    """Make the key, once it is approved. For a minute, it is replaced by another one: a response can be
    lost."""
    found = await store.lock_by_device(tx, _digest(device_code))
    if found is None or (found.redeemed_at is not None and found.redeemed_at < tx.now - REPEATABLE):
        raise DeviceExpired
    if found.status == "pending":
        raise DevicePending
    account = await accounts.find(tx, found.account_id) if found.account_id else None
    if found.status == "denied" or account is None or account.closed_at or account.suspended_at:
        raise DeviceDenied
    if found.password_mark != password_mark(account):
        # Whoever knew the old password may have approved it.
        raise DeviceDenied
    if found.key_id is not None:
        await _revoke(tx, account.id, found.key_id)
    new = NewKey(scopes=found.scopes, name=found.machine_name, expires_in_days=KEY_DAYS)
    key, secret = await keys.create(tx, accounts.owner_principal(account), new)
    await store.set_redeemed(tx, found.id, key.id)
    return DeviceTokenView(
        key_id=key.id,
        name=key.name,
        account_id=account.id,
        email=account.email,
        scopes=key.scopes,
        expires_at=key.expires_at,
        secret=secret.text,
    )


async def _revoke(tx: Tx, account: AccountId, key_id: str) -> None:
    lost = await keys.read(tx, account, key_id)
    if lost is not None:
        await keys.revoke(tx, lost)


async def _decide(tx: Tx, caller: Principal, user_code: str, status: Status) -> None:
    """Once. The same decision can be repeated, because a response can be lost."""
    if caller.kind != "session":
        raise SessionRequired
    found = await store.lock(tx, normalize_user_code(user_code))
    if found is None or (found.status, found.account_id) not in (
        ("pending", None),
        (status, caller.account_id),
    ):
        raise DeviceCodeNotFound
    account = await accounts.get(tx, caller)
    await store.decide(tx, found.id, account.id, password_mark(account), status)


def password_mark(account: Account) -> bytes:
    """Another one after the password was changed."""
    return sha256(account.password_hash.encode()).digest()


async def limit_collecting(limiter: Limiter, device_code: str, network: str) -> None:
    await _spend(
        limiter,
        (f"device:poll:of:{_digest(device_code).hex()}", POLLS_PER_MINUTE_AND_DEVICE),
        (f"device:poll:from:{network}", POLLS_PER_MINUTE_AND_NETWORK),
    )


async def limit_lookups(limiter: Limiter, account: AccountId) -> None:
    await _spend(limiter, (f"device:of:{account}", LOOKUPS_PER_MINUTE_AND_ACCOUNT))


async def delete_expired(tx: Tx) -> int:
    """Delete a batch. Returns how many were deleted."""
    return await store.delete_expired(tx, BATCH_SIZE)


async def _spend(limiter: Limiter, *buckets: tuple[str, int]) -> None:
    wait = await limiter.spend_anonymous(*buckets)
    if wait:
        raise RateLimitExceeded(seconds=wait)


def _digest(device_code: str) -> bytes:
    return sha256(device_code.encode()).digest()
