# Generated from `_async/resources/webhook_deliveries.py` by `make generate`.
"""Webhook deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class WebhookDeliveries(Resource):
    def list(self, endpoint_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Delivery]:
        """List the deliveries of the last 30 days, newest first, with their attempts.

        Scopes: `webhooks:read`.
        """
        path = f"/v1/webhook-endpoints/{in_path(endpoint_id)}/deliveries"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Delivery
        )

    def replay(self, endpoint_id: str, delivery_id: str) -> types.Delivery:
        """Send a delivery again, with the same id and body and a new signature.

        Scopes: `webhooks:write`.
        """
        return returned(
            types.Delivery,
            self._client._call(
                "POST",
                f"/v1/webhook-endpoints/{in_path(endpoint_id)}/deliveries/{in_path(delivery_id)}/replay",
                idempotent="key",
            ),
        )
