# Generated from the API description by `make generate`.
"""Releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncReleases(AsyncResource):
    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Release]:
        """List the releases of an environment, live and earlier ones, newest first.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/releases"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Release
        )
