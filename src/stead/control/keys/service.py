"""Use cases of API keys. A key never has more permissions than the credential that created it."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network

from msgspec import UNSET
from msgspec.structs import replace

from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.http.client_address import parse_networks
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Mode, Network, Pin, PinType, Principal
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.keys import store
from stead.control.keys.events import KEY_CHANGED, KEY_CREATED, KEY_REVOKED, KEY_ROLLED
from stead.control.keys.rules import (
    OLD_SECRET_LIFETIME,
    KeyAlreadyRevoked,
    KeyNotFound,
    KeyReachesFurther,
    PinnedResourceNotFound,
    VisibleKey,
    family,
)
from stead.control.keys.schema import KeyChange, KeyView, NewKey
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.plans import service as plans
from stead.control.projects import service as projects
from stead.control.sites import service as sites
from stead.control.teams import service as teams
from stead.shared import scopes, secrets
from stead.shared.errors import AccountSuspended, CredentialRevoked, FieldInvalid, ScopeInsufficient
from stead.shared.ids import AccountId, KeyId, has_shape, new_id
from stead.shared.secrets import Secret
from stead.shared.wording import quote


async def visible_key(call: Call, key_id: str) -> VisibleKey:
    key = await store.find(call.tx, call.caller, key_id) if has_shape("key", key_id) else None
    if key is None:
        raise KeyNotFound
    return key


async def read(tx: Tx, account: AccountId, key: str) -> VisibleKey | None:
    """A key of an account, whoever asks."""
    return await store.get(tx, account, key)


async def browse(tx: Tx, caller: Principal, page: PageRequest) -> Page[KeyView]:
    return await store.page(tx, caller, page)


async def create(tx: Tx, caller: Principal, new: NewKey) -> tuple[VisibleKey, Secret]:
    _require_scopes(caller, new.scopes)
    allowlist = _allowlist(caller, new.ip_allowlist)
    mode = _mode(caller, new.mode)
    pin = await _pin(tx, caller, new.resource)
    await plans.require_room_in_account(tx, caller.account_id, "keys")
    secret = secrets.mint(family(mode))
    key = VisibleKey(
        id=KeyId(new_id("key")),
        name=new.name,
        mode=mode,
        last4=secret.last4,
        scopes=new.scopes,
        pin_type=pin.type if pin else None,
        pin_id=pin.id if pin else None,
        ip_allowlist=allowlist,
        expires_at=tx.now + timedelta(days=new.expires_in_days),
        last_used_at=None,
        revoked_at=None,
        created_at=tx.now,
        account_id=caller.account_id,
    )
    minter = caller.id if caller.kind == "api_key" else None
    await lock_used_keys(tx, caller)
    await store.insert(tx, key, secret.hash, minter=minter, depends_on=caller.obtained_by)
    await _publish_event(tx, KEY_CREATED, key)
    return key, secret


async def update(tx: Tx, caller: Principal, key: VisibleKey, change: KeyChange) -> VisibleKey:
    key = await store.lock(tx, caller, key)
    _require_unrevoked(key)
    changed = replace(
        key,
        name=key.name if change.name is UNSET else change.name,
        scopes=key.scopes if change.scopes is UNSET else change.scopes,
    )
    _require_known(changed.scopes)
    added = scopes.first_excess(changed.scopes, scopes.expand(key.scopes))
    if added is not None:
        raise ScopeInsufficient(scope=added)
    await store.update(tx, key, name=changed.name, scopes=changed.scopes)
    await invalidate_cached_principals(tx, key.id)
    await _publish_event(tx, KEY_CHANGED, changed)
    return changed


async def roll(tx: Tx, caller: Principal, key: VisibleKey) -> tuple[VisibleKey, Secret]:
    """The caller receives the new secret, so the key must not have more permissions than the caller, and the
    secret must not outlive the caller's key."""
    used = await lock_used_keys(tx, caller, key)
    key = await store.get_current(tx, caller, key)
    _require_unrevoked(key)
    _require_scopes(caller, key.scopes)
    _require_allowlist_within(caller, key)
    secret = secrets.mint(family(key.mode))
    await store.replace_secret(
        tx,
        key,
        secret.hash,
        secret.last4,
        until=tx.now + OLD_SECRET_LIFETIME,
        depends_on=sorted(used - {key.id}),
    )
    await invalidate_cached_principals(tx, key.id)
    await _publish_event(tx, KEY_ROLLED, key)
    return replace(key, last4=secret.last4), secret


async def lock_used_keys(tx: Tx, caller: Principal, key: VisibleKey | None = None) -> set[str]:
    """Keep the caller's key, and those through which its secret was obtained, from being revoked meanwhile.
    The key that the request is about is locked with them."""
    used = {caller.id, *caller.obtained_by} if caller.kind == "api_key" else set()
    await store.lock_keys(tx, used | ({key.id} if key else set()))
    if not await store.lock_keys(tx, used):
        raise CredentialRevoked
    return used


async def revoke(tx: Tx, key: VisibleKey) -> None:
    """No key outlives the key that created it, and no secret the key that obtained it by rolling another.

    What such a key creates or rolls at the same time is found by the next round.
    """
    ended: list[str] = [key.id]
    revoked: list[KeyId] = []
    narrowed: set[str] = set()
    while True:
        found = await store.revoke_families(tx, ended)
        revoked += found
        lost = await store.end_dependent_secrets(tx, key.account_id, [key.id, *revoked])
        narrowed.update(lost)
        ended = [key.id, *await store.without_secret(tx, lost)]
        if not found and not lost:
            break
    narrowed -= set(revoked)
    await invalidate_cached_principals(tx, key.id, *revoked, *narrowed)
    for each in revoked:
        await publish(tx, KEY_REVOKED, About(account_id=key.account_id), key_id=each)
    for changed in sorted(narrowed):
        await publish(tx, KEY_CHANGED, About(account_id=key.account_id), key_id=changed)


async def revoke_all(tx: Tx, account: AccountId) -> None:
    """Revoke every key of an account."""
    revoked = await store.revoke_all(tx, account)
    await invalidate_cached_principals(tx, *revoked)
    for key in revoked:
        await publish(tx, KEY_REVOKED, About(account_id=account), key_id=key)


async def _publish_event(tx: Tx, event: EventType, key: VisibleKey) -> None:
    await publish(tx, event, About(account_id=key.account_id), key_id=key.id)


async def principal_of_key(tx: Tx, secret_hash: bytes) -> Principal | None:
    row = await store.principal(tx, secret_hash)
    if row is None:
        return None
    if row.revoked_at is not None or row.account.is_closed:
        raise CredentialRevoked
    if row.account.is_suspended:
        raise AccountSuspended
    ends = row.expires_at if row.secret_until is None else min(row.expires_at, row.secret_until)
    return Principal(
        kind="api_key",
        id=row.id,
        account_id=row.account_id,
        email=row.account.email,
        scopes=tuple(row.scopes),
        allowed=scopes.expand(row.scopes),
        mode=row.mode,
        pin=Pin(row.pin_type, row.pin_id) if row.pin_type and row.pin_id else None,
        networks=parse_networks(row.ip_allowlist),
        expires_at=ends,
        limits=row.account.limits,
        ceiling_owner=row.account.ceiling_owner,
        obtained_by=tuple(row.depends_on),
    )


async def record_use(tx: Tx, used: Mapping[str, float]) -> None:
    times = [datetime.fromtimestamp(at, UTC) for at in used.values()]
    await store.record_use(tx, list(used), times)


def _require_unrevoked(key: VisibleKey) -> None:
    if key.revoked_at is not None:
        raise KeyAlreadyRevoked


def _require_known(requested: list[str]) -> None:
    for index, scope in enumerate(requested):
        if scope not in scopes.GRANTABLE:
            raise FieldInvalid(
                param=f"scopes.{index}",
                reason=f"The scope {quote(scope)} does not exist. Use for example: sites:read.",
            )


def _require_scopes(caller: Principal, requested: list[str]) -> None:
    _require_known(requested)
    missing = scopes.first_excess(requested, caller.allowed)
    if missing is not None:
        raise ScopeInsufficient(scope=missing)


def _mode(caller: Principal, requested: Mode | None) -> Mode:
    if caller.mode == "test" and requested == "live":
        raise FieldInvalid(param="mode", reason="A test credential can only create test keys.")
    return requested or caller.mode


async def _pin(tx: Tx, caller: Principal, requested: Pin | None) -> Pin | None:
    """The pin of a pinned credential is inherited; such a credential cannot pin to anything else."""
    if caller.pin is not None or requested is None:
        if requested not in (None, caller.pin):
            raise PinnedResourceNotFound(type=requested.type)
        return caller.pin
    find = _PINNABLE.get(requested.type)
    if find is None:
        raise PinnedResourceNotFound(type=requested.type)
    await find(tx, caller, requested.id)
    return requested


_PINNABLE: dict[PinType, Callable[[Tx, Principal, str], Awaitable[object]]] = {
    "site": sites.find,
    "environment": environments.find,
    "project": projects.find,
    "team": teams.find,
}


def _allowlist(caller: Principal, requested: list[str] | None) -> list[str]:
    """By default the allowlist of the creating credential. A list of its own must be within that one."""
    if not requested:
        return [str(network) for network in caller.networks]
    for index, text in enumerate(requested):
        param = f"ip_allowlist.{index}"
        try:
            networks = parse_networks([text])
        except ValueError:
            raise FieldInvalid(
                param=param,
                reason=f"{quote(text)} is neither an IP address nor a network."
                " Use for example: 203.0.113.0/24.",
            ) from None
        if not _are_within(networks, caller.networks):
            raise FieldInvalid(
                param=param, reason=f"{quote(text)} is outside the allowlist of the creating key."
            )
    return requested


def _require_allowlist_within(caller: Principal, key: VisibleKey) -> None:
    networks = parse_networks(key.ip_allowlist)
    if caller.networks and (not networks or not _are_within(networks, caller.networks)):
        raise KeyReachesFurther


def _are_within(inner: tuple[Network, ...], outer: tuple[Network, ...]) -> bool:
    return not outer or all(any(_is_within(each, wider) for wider in outer) for each in inner)


def _is_within(inner: Network, outer: Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)
