# Generated from the API description by `make generate`.
"""Secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncSecrets(AsyncResource):
    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Secret]:
        """List the secrets and plain variables of an environment, by name, from Z to A. No secret is returned.

        Scopes: `secrets:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/secrets"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Secret
        )

    async def set(
        self,
        site_id: str,
        env_id: str,
        name: str,
        *,
        value: str,
        plain: bool | Omit = OMIT,
        previews: bool | Omit = OMIT,
    ) -> types.Secret:
        """Set or replace a secret, or a plain variable. The next build reads it as an environment variable.

        Secrets are stored sealed and never returned. They are masked in the output of builds, also in
        base64, hexadecimal and percent-encoding. What a build writes into the files of the site is public.

        Scopes: `secrets:write`.
        """
        return returned(
            types.Secret,
            await self._client._call(
                "PUT",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/secrets/{in_path(name)}",
                body={"value": value, "plain": plain, "previews": previews},
            ),
        )

    async def delete(self, site_id: str, env_id: str, name: str) -> None:
        """Delete a secret. Builds that have begun keep it until they end.

        Scopes: `secrets:write`.
        """
        await self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/secrets/{in_path(name)}"
        )
