"""HTTP operations with which a device without a browser signs in (RFC 8628)."""

from stead.control.devices import service
from stead.control.devices.rules import (
    LIFETIME,
    PATH,
    POLL_SECONDS,
    DeviceCodeNotFound,
    DeviceDenied,
    DeviceExpired,
    DevicePending,
    SessionRequired,
)
from stead.control.devices.schema import (
    DeviceAuthorizationView,
    DeviceTokenRequest,
    DeviceTokenView,
    NewDeviceAuthorization,
    StartedDeviceView,
)
from stead.control.http.client_address import network_of
from stead.control.http.operations import Call, Operations, PublicCall
from stead.control.http.requirements import PUBLIC
from stead.control.outbox.audit import Actor
from stead.control.plans.rules import KeysExhausted
from stead.shared.errors import RateLimitExceeded
from stead.shared.ids import AccountId

operation = Operations(tag="Device authorizations")

_ONE = "/v1/device-authorizations/{user_code}"


@operation(
    "POST /v1/device-authorizations",
    id="device_authorizations.create",
    scope=PUBLIC,
    status=201,
    errors=[RateLimitExceeded],
)
async def start_sign_in(call: PublicCall, body: NewDeviceAuthorization) -> StartedDeviceView:
    """Begin to sign in on a device.

    The device shows `user_code` and `verification_uri`. A person opens the page, signs in, compares the code
    and approves. Meanwhile the device asks `POST /v1/device-authorizations/token` for its key.
    """
    started = await service.start(call.tx, call.limiter, body, call.address)
    page, code = f"{call.context.base_url.rstrip('/')}{PATH}", started.authorization.user_code
    return StartedDeviceView(
        device_code=started.device_code,
        user_code=code,
        verification_uri=page,
        verification_uri_complete=f"{page}?code={code}",
        expires_in=int(LIFETIME.total_seconds()),
        interval=POLL_SECONDS,
    )


@operation(
    "POST /v1/device-authorizations/token",
    id="device_authorizations.token",
    scope=PUBLIC,
    errors=[DevicePending, DeviceDenied, DeviceExpired, KeysExhausted, RateLimitExceeded],
)
async def collect_key(call: PublicCall, body: DeviceTokenRequest) -> DeviceTokenView:
    """Collect the key of a device whose sign-in was approved.

    Until somebody has approved it, the response is `device.pending`. The key is valid for 90 days. Within a
    minute it can be collected again, because a response can be lost: the key before is revoked.
    """
    await service.limit_collecting(call.limiter, body.device_code, network_of(call.address))
    token = await service.collect(call.tx, body.device_code)
    call.audit.actor = Actor("member", AccountId(token.account_id), token.email)
    call.audit.note(key_id=token.key_id)
    return token


@operation(
    f"GET {_ONE}",
    id="device_authorizations.get",
    scope="keys:read",
    account_wide=True,
    test_keys=False,
    errors=[DeviceCodeNotFound],
)
async def get_waiting(call: Call, user_code: str) -> DeviceAuthorizationView:
    """Read what a device asks for, before you approve it.

    Only while it waits. Attempts with codes are counted.
    """
    found = await service.find(call.tx, call.limiter, call.caller.account_id, user_code)
    return DeviceAuthorizationView(
        user_code=found.user_code,
        machine_name=found.machine_name,
        network=found.network,
        scopes=found.scopes,
        created_at=found.created_at,
        expires_at=found.expires_at,
    )


@operation(
    f"POST {_ONE}/approve",
    id="device_authorizations.approve",
    recent_sign_in=True,
    scope="keys:write",
    account_wide=True,
    errors=[DeviceCodeNotFound, SessionRequired, RateLimitExceeded],
)
async def approve_sign_in(call: Call, user_code: str) -> None:
    """Let a device sign in to your account: it gets an API key for 90 days.

    Only with the token of a session. Revoke the key with `DELETE /v1/api-keys/{key_id}`.
    """
    await service.limit_lookups(call.limiter, call.caller.account_id)
    await service.approve(call.tx, call.caller, user_code)


@operation(
    f"POST {_ONE}/deny",
    id="device_authorizations.deny",
    scope="keys:write",
    account_wide=True,
    errors=[DeviceCodeNotFound, SessionRequired, RateLimitExceeded],
)
async def deny_sign_in(call: Call, user_code: str) -> None:
    """Do not let a device sign in."""
    await service.limit_lookups(call.limiter, call.caller.account_id)
    await service.deny(call.tx, call.caller, user_code)
