# Generated from `_async/resources/deployments.py` by `make generate`.
"""Deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path
from stead_sdk._sync.jobs import JobHandle
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource, result_of

if TYPE_CHECKING:
    pass


class Deployments(Resource):
    def create(self, site_id: str, env_id: str, *, artifact_id: str) -> JobHandle[dict[str, Any]]:
        """Deploy an artifact to an environment.

        The node fetches, verifies and probes the release before any visitor sees it; then all visitors get
        it at once. If the probe fails, the job fails and the previous release is still served.

        Scopes: `deployments:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/deployments",
            body={"artifact_id": artifact_id},
            idempotent="key",
        )
        return self._handle(response, result_of)

    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Deployment]:
        """List the deployments of an environment, newest first.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/deployments"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Deployment
        )

    def rollback(self, site_id: str, env_id: str, deployment_id: str) -> JobHandle[dict[str, Any]]:
        """Roll back to the release of an earlier deployment. Nothing is built.

        Scopes: `deployments:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/deployments/{in_path(deployment_id)}/rollback",
            idempotent="key",
        )
        return self._handle(response, result_of)

    def promote(self, site_id: str, env_id: str, *, to_env: str) -> JobHandle[dict[str, Any]]:
        """Deploy the live release of this environment to another environment of the site. Nothing is built.

        Scopes: `deployments:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/promote",
            body={"to_env": to_env},
            idempotent="key",
        )
        return self._handle(response, result_of)
