# Generated from the API description by `make generate`.
"""Runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource

if TYPE_CHECKING:
    pass


class AsyncRuntimes(AsyncResource):
    async def list(self) -> types.Runtimes:
        """List all runtimes, including planned ones, with the capabilities of their sites.

        Scopes: `sites:read`.
        """
        return returned(types.Runtimes, await self._client._call("GET", "/v1/runtimes"))
