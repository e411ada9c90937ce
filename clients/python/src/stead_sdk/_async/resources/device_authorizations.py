# Generated from the API description by `make generate`.
"""Device authorizations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence


class AsyncDeviceAuthorizations(AsyncResource):
    async def create(
        self, *, machine_name: str, scopes: Sequence[types.Scope] | Omit | None = OMIT
    ) -> types.StartedDevice:
        """Begin to sign in on a device.

        The device shows `user_code` and `verification_uri`. A person opens the page, signs in, compares the
        code and approves. Meanwhile the device asks `POST /v1/device-authorizations/token` for its key.
        """
        return returned(
            types.StartedDevice,
            await self._client._call(
                "POST",
                "/v1/device-authorizations",
                body={"machine_name": machine_name, "scopes": scopes},
                idempotent="none",
            ),
        )

    async def token(self, *, device_code: str) -> types.DeviceToken:
        """Collect the key of a device whose sign-in was approved.

        Until somebody has approved it, the response is `device.pending`. The key is valid for 90 days.
        Within a minute it can be collected again, because a response can be lost: the key before is
        revoked.
        """
        return returned(
            types.DeviceToken,
            await self._client._call(
                "POST",
                "/v1/device-authorizations/token",
                body={"device_code": device_code},
                idempotent="none",
            ),
        )

    async def get(self, user_code: str) -> types.DeviceAuthorization:
        """Read what a device asks for, before you approve it.

        Only while it waits. Attempts with codes are counted.

        Scopes: `keys:read`.
        """
        return returned(
            types.DeviceAuthorization,
            await self._client._call("GET", f"/v1/device-authorizations/{in_path(user_code)}"),
        )

    async def approve(self, user_code: str) -> None:
        """Let a device sign in to your account: it gets an API key for 90 days.

        Only with the token of a session. Revoke the key with `DELETE /v1/api-keys/{key_id}`.

        Scopes: `keys:write`.
        """
        await self._client._call(
            "POST", f"/v1/device-authorizations/{in_path(user_code)}/approve", idempotent="key"
        )

    async def deny(self, user_code: str) -> None:
        """Do not let a device sign in.

        Scopes: `keys:write`.
        """
        await self._client._call(
            "POST", f"/v1/device-authorizations/{in_path(user_code)}/deny", idempotent="key"
        )
