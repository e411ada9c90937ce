# Generated from the API description by `make generate`.
"""Rate limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource

if TYPE_CHECKING:
    pass


class AsyncRateLimits(AsyncResource):
    async def get(self) -> types.RateLimits:
        """Read the rate limits of this credential. This request does not count toward them."""
        return returned(types.RateLimits, await self._client._call("GET", "/v1/rate-limits"))
