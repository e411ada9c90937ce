# Generated from the API description by `make generate`.
"""Vulnerabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.resource import AsyncResource

if TYPE_CHECKING:
    pass


class AsyncVulnerabilities(AsyncResource):
    async def get(self, site_id: str) -> types.Vulnerabilities:
        """Read the known vulnerabilities of WordPress, plugins and themes on a site, with their sources.

        Scopes: `vulnerabilities:read`.
        """
        return returned(
            types.Vulnerabilities,
            await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/security/vulnerabilities"),
        )
