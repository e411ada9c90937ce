# Generated from the API description by `make generate`.
"""Webhook deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncWebhookDeliveries(AsyncResource):
    def list(self, endpoint_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Delivery]:
        """List the deliveries of the last 30 days, newest first, with their attempts.

        Scopes: `webhooks:read`.
        """
        path = f"/v1/webhook-endpoints/{in_path(endpoint_id)}/deliveries"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Delivery
        )

    async def replay(self, endpoint_id: str, delivery_id: str) -> types.Delivery:
        """Send a delivery again, with the same id and body and a new signature.

        Scopes: `webhooks:write`.
        """
        return returned(
            types.Delivery,
            await self._client._call(
                "POST",
                f"/v1/webhook-endpoints/{in_path(endpoint_id)}/deliveries/{in_path(delivery_id)}/replay",
                idempotent="key",
            ),
        )
