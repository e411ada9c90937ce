# Generated from the API description by `make generate`.
"""Usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncUsage(AsyncResource):
    async def storage(self, *, latest: bool | Omit = OMIT) -> types.Storage:
        """Get how much each of your sites stores.

        Of up to 1,000 sites, the newest ones: now, and on each of the last 30 days.

        Scopes: `observability:read`.
        """
        return returned(
            types.Storage, await self._client._call("GET", "/v1/usage/storage", query={"latest": latest})
        )
