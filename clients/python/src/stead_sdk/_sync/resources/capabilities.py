# Generated from `_async/resources/capabilities.py` by `make generate`.
"""Capabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Capabilities(Resource):
    def get(self, site_id: str) -> types.Capabilities:
        """List the capabilities of a site, which depend on its runtime.

        Scopes: `sites:read`.
        """
        return returned(
            types.Capabilities, self._client._call("GET", f"/v1/sites/{in_path(site_id)}/capabilities")
        )
