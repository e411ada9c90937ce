# Generated from `_async/resources/rate_limits.py` by `make generate`.
"""Rate limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._sync.client import returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class RateLimits(Resource):
    def get(self) -> types.RateLimits:
        """Read the rate limits of this credential. This request does not count toward them."""
        return returned(types.RateLimits, self._client._call("GET", "/v1/rate-limits"))
