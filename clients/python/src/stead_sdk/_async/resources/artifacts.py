# Generated from the API description by `make generate`.
"""Artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncArtifacts(AsyncResource):
    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Artifact]:
        """List the artifacts that can be deployed, newest first.

        An artifact belongs to the site: it can be deployed to every environment, whichever it was built
        for. Artifacts that no environment has used lately are removed after 30 days; the ten newest are
        always kept.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/artifacts"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Artifact
        )
