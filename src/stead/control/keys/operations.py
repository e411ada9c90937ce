"""HTTP operations on API keys and rate limits."""

from msgspec.structs import asdict

from stead.control.environments.rules import EnvironmentNotFound
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.rate_limits import RATE_CLASSES, ceiling_key, limit_of, own_key
from stead.control.http.requirements import ANY_CREDENTIAL
from stead.control.keys import service
from stead.control.keys.rules import (
    KeyAlreadyRevoked,
    KeyNotFound,
    KeyReachesFurther,
    PinnedResourceNotFound,
    VisibleKey,
    family,
)
from stead.control.keys.schema import (
    BucketView,
    ClassBucketView,
    KeyChange,
    KeyView,
    MintedKeyView,
    NewKey,
    RateLimitsView,
    RolledKeyView,
)
from stead.control.plans.rules import KeysExhausted
from stead.control.projects.rules import ProjectNotFound
from stead.control.sites.rules import SiteNotFound
from stead.control.teams.rules import TeamNotFound

operation = Operations(tag="API keys")


@operation("GET /v1/api-keys", id="api_keys.list", scope="keys:read")
async def list_keys(call: Call, page: PageRequest) -> Page[KeyView]:
    """List the API keys of the account, newest first, without their secrets."""
    return await service.browse(call.tx, call.caller, page)


@operation(
    "POST /v1/api-keys",
    id="api_keys.create",
    recent_sign_in=True,
    scope="keys:write",
    test_keys=True,
    status=201,
    errors=[
        *(PinnedResourceNotFound, SiteNotFound, EnvironmentNotFound, ProjectNotFound, TeamNotFound),
        KeysExhausted,
    ],
)
async def create_key(call: Call, body: NewKey) -> MintedKeyView:
    """Create an API key. Its secret is returned only once, in this response.

    The key can only have scopes that the creating credential has. It inherits the pin of that credential, and
    its IP allowlist must be within the allowlist of that credential.
    """
    key, secret = await service.create(call.tx, call.caller, body)
    call.audit.note(key_id=key.id)
    return MintedKeyView(**asdict(_view(key)), secret=secret.text)


@operation("GET /v1/api-keys/{key_id}", id="api_keys.get", scope="keys:read", errors=[KeyNotFound])
async def get_key(call: Call, key: VisibleKey) -> KeyView:  # noqa: ARG001 - required by `operation`
    """Read an API key, without its secret."""
    return _view(key)


@operation(
    "PATCH /v1/api-keys/{key_id}",
    id="api_keys.update",
    scope="keys:write",
    errors=[KeyNotFound, KeyAlreadyRevoked],
)
async def update_key(call: Call, key: VisibleKey, body: KeyChange) -> KeyView:
    """Rename an API key or remove scopes from it. Scopes cannot be added."""
    return _view(await service.update(call.tx, call.caller, key, body))


@operation("DELETE /v1/api-keys/{key_id}", id="api_keys.revoke", scope="keys:write", errors=[KeyNotFound])
async def revoke_key(call: Call, key: VisibleKey) -> None:
    """Revoke an API key and every key that was created with it. Their secrets stop working immediately.

    So do the secrets that were obtained with it by rolling other keys. Such a key goes on with its previous
    secret as long as that works, and is revoked if it has none.
    """
    await service.revoke(call.tx, key)


@operation(
    "POST /v1/api-keys/{key_id}/roll",
    id="api_keys.roll",
    recent_sign_in=True,
    destructive="irreversible",
    scope="keys:write",
    errors=[KeyNotFound, KeyAlreadyRevoked, KeyReachesFurther],
)
async def roll_key(call: Call, key: VisibleKey) -> RolledKeyView:
    """Create a new secret for an API key. The old secret works for another 24 hours.

    The new secret is returned only once. If the key is rolled again within that time, the oldest secret stops
    working immediately.
    """
    rolled, secret = await service.roll(call.tx, call.caller, key)
    return RolledKeyView(
        id=rolled.id,
        name=rolled.name,
        secret=secret.text,
        prefix=secret.family,
        last4=secret.last4,
        scopes=rolled.scopes,
        created_at=rolled.created_at,
    )


@operation("GET /v1/rate-limits", id="rate_limits.get", scope=ANY_CREDENTIAL, rate_limited=False)
async def get_rate_limits(call: Call) -> RateLimitsView:
    """Read the rate limits of this credential. This request does not count toward them."""
    caller = call.caller
    keys = [own_key(caller.id, rate) for rate in RATE_CLASSES] + [ceiling_key(caller.ceiling_owner)]
    limits = [limit_of(caller.limits, rate) for rate in RATE_CLASSES] + [caller.limits.ceiling]
    *own, ceiling = await call.limiter.peek_buckets(keys, limits)
    return RateLimitsView(
        buckets=[
            ClassBucketView(bucket.limit, bucket.remaining, bucket.reset, class_=rate)
            for rate, bucket in zip(RATE_CLASSES, own, strict=True)
        ],
        team_ceiling=BucketView(ceiling.limit, ceiling.remaining, ceiling.reset),
    )


def _view(key: VisibleKey) -> KeyView:
    return KeyView(
        id=key.id,
        name=key.name,
        prefix=family(key.mode),
        last4=key.last4,
        scopes=key.scopes,
        resource=key.pin,
        ip_allowlist=key.ip_allowlist,
        expires_at=key.expires_at,
        last_used_at=key.last_used_at,
        revoked_at=key.revoked_at,
        created_at=key.created_at,
    )
