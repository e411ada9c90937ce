# Generated from `_async/resources/runtimes.py` by `make generate`.
"""Runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._sync.client import returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Runtimes(Resource):
    def list(self) -> types.Runtimes:
        """List all runtimes, including planned ones, with the capabilities of their sites.

        Scopes: `sites:read`.
        """
        return returned(types.Runtimes, self._client._call("GET", "/v1/runtimes"))
