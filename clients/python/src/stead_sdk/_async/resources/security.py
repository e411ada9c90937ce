# Generated from the API description by `make generate`.
"""Security."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource

if TYPE_CHECKING:
    pass


class AsyncSecurity(AsyncResource):
    async def summary(self) -> types.SecuritySummary:
        """Read the vulnerabilities, active detections and last scan of each site. At most 500 sites.

        Scopes: `security:read`, `vulnerabilities:read`.
        """
        return returned(types.SecuritySummary, await self._client._call("GET", "/v1/security/summary"))
