# Generated from `_async/resources/vulnerabilities.py` by `make generate`.
"""Vulnerabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Vulnerabilities(Resource):
    def get(self, site_id: str) -> types.Vulnerabilities:
        """Read the known vulnerabilities of WordPress, plugins and themes on a site, with their sources.

        Scopes: `vulnerabilities:read`.
        """
        return returned(
            types.Vulnerabilities,
            self._client._call("GET", f"/v1/sites/{in_path(site_id)}/security/vulnerabilities"),
        )
