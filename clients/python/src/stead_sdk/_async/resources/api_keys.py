# Generated from the API description by `make generate`.
"""Api keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stead_sdk import params


class AsyncApiKeys(AsyncResource):
    def list(self, *, limit: int | Omit = OMIT) -> AsyncPager[types.Key]:
        """List the API keys of the account, newest first, without their secrets.

        Scopes: `keys:read`.
        """
        path = "/v1/api-keys"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Key
        )

    async def create(
        self,
        *,
        scopes: Sequence[types.Scope],
        name: str | Omit | None = OMIT,
        resource: params.Pin | Omit | None = OMIT,
        expires_in_days: int | Omit = OMIT,
        ip_allowlist: Sequence[str] | Omit | None = OMIT,
        mode: types.KeyMode | Omit | None = OMIT,
    ) -> types.MintedKey:
        """Create an API key. Its secret is returned only once, in this response.

        The key can only have scopes that the creating credential has. It inherits the pin of that
        credential, and its IP allowlist must be within the allowlist of that credential.

        Scopes: `keys:write`.
        """
        return returned(
            types.MintedKey,
            await self._client._call(
                "POST",
                "/v1/api-keys",
                body={
                    "scopes": scopes,
                    "name": name,
                    "resource": resource,
                    "expires_in_days": expires_in_days,
                    "ip_allowlist": ip_allowlist,
                    "mode": mode,
                },
                idempotent="key",
            ),
        )

    async def get(self, key_id: str) -> types.Key:
        """Read an API key, without its secret.

        Scopes: `keys:read`.
        """
        return returned(types.Key, await self._client._call("GET", f"/v1/api-keys/{in_path(key_id)}"))

    async def update(
        self, key_id: str, *, name: str | Omit | None = OMIT, scopes: Sequence[types.Scope] | Omit = OMIT
    ) -> types.Key:
        """Rename an API key or remove scopes from it. Scopes cannot be added.

        Scopes: `keys:write`.
        """
        return returned(
            types.Key,
            await self._client._call(
                "PATCH",
                f"/v1/api-keys/{in_path(key_id)}",
                body={"name": name, "scopes": scopes},
                idempotent="none",
            ),
        )

    async def revoke(self, key_id: str) -> None:
        """Revoke an API key and every key that was created with it. Their secrets stop working immediately.

        So do the secrets that were obtained with it by rolling other keys. Such a key goes on with its
        previous secret as long as that works, and is revoked if it has none.

        Scopes: `keys:write`.
        """
        await self._client._call("DELETE", f"/v1/api-keys/{in_path(key_id)}")

    async def roll(self, key_id: str) -> types.RolledKey:
        """Create a new secret for an API key. The old secret works for another 24 hours.

        The new secret is returned only once. If the key is rolled again within that time, the oldest secret
        stops working immediately.

        Scopes: `keys:write`.
        """
        return returned(
            types.RolledKey,
            await self._client._call("POST", f"/v1/api-keys/{in_path(key_id)}/roll", idempotent="key"),
        )
