# Generated from `_async/resources/webhook_endpoints.py` by `make generate`.
"""Webhook endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Sequence


class WebhookEndpoints(Resource):
    def list(self, *, limit: int | Omit = OMIT) -> Pager[types.Endpoint]:
        """List the endpoints of the account, newest first, without their secrets.

        Scopes: `webhooks:read`.
        """
        path = "/v1/webhook-endpoints"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Endpoint
        )

    def create(
        self,
        *,
        url: str,
        event_types: Sequence[str] | Omit | None = OMIT,
        description: str | Omit | None = OMIT,
    ) -> types.RevealedEndpoint:
        """Create an endpoint. Only this response contains the secret that signs its deliveries.

        The endpoint receives the events that this credential can read, within its pin and mode.

        Scopes: `webhooks:write`.
        """
        return returned(
            types.RevealedEndpoint,
            self._client._call(
                "POST",
                "/v1/webhook-endpoints",
                body={"url": url, "event_types": event_types, "description": description},
                idempotent="key",
            ),
        )

    def event_types(self) -> types.EventTypes:
        """List all event types, with the schema and an example of `data`.

        Scopes: `webhooks:read`.
        """
        return returned(types.EventTypes, self._client._call("GET", "/v1/webhook-endpoints/event-types"))

    def get(self, endpoint_id: str) -> types.Endpoint:
        """Read an endpoint, without its secret.

        Scopes: `webhooks:read`.
        """
        return returned(
            types.Endpoint, self._client._call("GET", f"/v1/webhook-endpoints/{in_path(endpoint_id)}")
        )

    def update(
        self,
        endpoint_id: str,
        *,
        url: str | Omit = OMIT,
        event_types: Sequence[str] | Omit = OMIT,
        description: str | Omit | None = OMIT,
        enabled: bool | Omit = OMIT,
    ) -> types.Endpoint:
        """Change an endpoint. `event_types` replaces the whole list.

        Pending deliveries of a disabled endpoint fail. They can be replayed when the endpoint is enabled
        again.

        Scopes: `webhooks:write`.
        """
        return returned(
            types.Endpoint,
            self._client._call(
                "PATCH",
                f"/v1/webhook-endpoints/{in_path(endpoint_id)}",
                body={"url": url, "event_types": event_types, "description": description, "enabled": enabled},
                idempotent="none",
            ),
        )

    def delete(self, endpoint_id: str) -> None:
        """Delete an endpoint. It receives no more deliveries.

        Scopes: `webhooks:write`.
        """
        self._client._call("DELETE", f"/v1/webhook-endpoints/{in_path(endpoint_id)}")

    def roll(self, endpoint_id: str) -> types.RevealedEndpoint:
        """Replace the secret of an endpoint. For 24 hours deliveries are signed with both secrets.

        Only this response contains the new secret.

        Scopes: `webhooks:write`.
        """
        return returned(
            types.RevealedEndpoint,
            self._client._call(
                "POST", f"/v1/webhook-endpoints/{in_path(endpoint_id)}/roll", idempotent="key"
            ),
        )

    def ping(self, endpoint_id: str) -> types.Delivery:
        """Send a test event, `webhook.ping`, to an endpoint, whatever it subscribes to.

        It is signed, repeated and logged like any other delivery: read its outcome in the deliveries of the
        endpoint. An endpoint gets at most 5 a minute, all endpoints of an account together at most 20.

        Scopes: `webhooks:write`.
        """
        return returned(
            types.Delivery,
            self._client._call(
                "POST", f"/v1/webhook-endpoints/{in_path(endpoint_id)}/ping", idempotent="key"
            ),
        )
