# Generated from `_async/resources/secrets.py` by `make generate`.
"""Secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Secrets(Resource):
    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Secret]:
        """List the secrets and plain variables of an environment, by name, from Z to A. No secret is returned.

        Scopes: `secrets:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/secrets"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Secret
        )

    def set(
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
            self._client._call(
                "PUT",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/secrets/{in_path(name)}",
                body={"value": value, "plain": plain, "previews": previews},
            ),
        )

    def delete(self, site_id: str, env_id: str, name: str) -> None:
        """Delete a secret. Builds that have begun keep it until they end.

        Scopes: `secrets:write`.
        """
        self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/secrets/{in_path(name)}"
        )
