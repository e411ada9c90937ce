# Generated from `_async/resources/traces.py` by `make generate`.
"""Traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Traces(Resource):
    def recent(self, *, hours: int | Omit = OMIT, limit: int | Omit = OMIT) -> types.Traces:
        """List the latest spans of traced requests of all your sites.

        Of the production environments of up to 1,000 sites, the newest ones.

        Scopes: `observability:read`.
        """
        return returned(
            types.Traces, self._client._call("GET", "/v1/traces", query={"hours": hours, "limit": limit})
        )
