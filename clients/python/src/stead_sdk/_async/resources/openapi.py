# Generated from the API description by `make generate`.
"""Openapi."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk._async.resource import AsyncResource

if TYPE_CHECKING:
    pass


class AsyncOpenapi(AsyncResource):
    async def get(self) -> dict[str, Any]:
        """Read this description, as OpenAPI 3.1.

        It is compressed if you accept gzip. The response has an `ETag`. If you send it in `If-None-Match`,
        the response is 304 until the description changes.
        """
        found: dict[str, Any] = await self._client._call("GET", "/v1/openapi.json")
        return found
