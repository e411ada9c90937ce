# Generated from the API description by `make generate`.
"""Metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncMetrics(AsyncResource):
    async def series(
        self, *, name: types.Name, hours: int | Omit = OMIT, limit: int | Omit = OMIT
    ) -> types.Metric:
        """Get a metric of all your sites over time.

        Of the production environments of up to 1,000 sites, the newest ones.

        Scopes: `observability:read`.
        """
        return returned(
            types.Metric,
            await self._client._call(
                "GET", "/v1/metrics", query={"name": name, "hours": hours, "limit": limit}
            ),
        )
