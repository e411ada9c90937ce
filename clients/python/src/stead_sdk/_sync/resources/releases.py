# Generated from `_async/resources/releases.py` by `make generate`.
"""Releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Releases(Resource):
    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Release]:
        """List the releases of an environment, live and earlier ones, newest first.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/releases"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Release
        )
