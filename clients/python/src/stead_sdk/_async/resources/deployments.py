# Generated from the API description by `make generate`.
"""Deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncDeployments(AsyncResource):
    async def create(self, site_id: str, env_id: str, *, artifact_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Deploy an artifact to an environment.

        The node fetches, verifies and probes the release before any visitor sees it; then all visitors get
        it at once. If the probe fails, the job fails and the previous release is still served.

        Scopes: `deployments:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/deployments",
            body={"artifact_id": artifact_id},
            idempotent="key",
        )
        return self._handle(response, result_of)

    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Deployment]:
        """List the deployments of an environment, newest first.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/deployments"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Deployment
        )

    async def rollback(self, site_id: str, env_id: str, deployment_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Roll back to the release of an earlier deployment. Nothing is built.

        Scopes: `deployments:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/deployments/{in_path(deployment_id)}/rollback",
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def promote(self, site_id: str, env_id: str, *, to_env: str) -> AsyncJobHandle[dict[str, Any]]:
        """Deploy the live release of this environment to another environment of the site. Nothing is built.

        Scopes: `deployments:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/promote",
            body={"to_env": to_env},
            idempotent="key",
        )
        return self._handle(response, result_of)
