# Generated from the API description by `make generate`.
"""Builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle, field_of
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncBuilds(AsyncResource):
    async def create(
        self,
        site_id: str,
        env_id: str,
        *,
        builder: str,
        source_ref: str | Omit | None = OMIT,
        commit: str | Omit | None = OMIT,
        source: str | Omit | None = OMIT,
        auto_deploy: bool | Omit = OMIT,
    ) -> AsyncJobHandle[types.Build]:
        """Build an artifact from the repository of the site, from an upload, or from an archive at another
        URL.

        The output of the job contains every line of the build. The result of a successful job contains the
        `artifact_id`.

        Scopes: `deployments:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/builds",
            body={
                "builder": builder,
                "source_ref": source_ref,
                "commit": commit,
                "source": source,
                "auto_deploy": auto_deploy,
            },
            idempotent="key",
        )

        async def read(job: types.Job) -> types.Build:
            return await self._client.builds.get(
                field_of(job, "site_id"), field_of(job, "env_id"), field_of(job, "build_id")
            )

        return self._handle(response, read)

    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Build]:
        """List the builds of an environment, newest first.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/builds"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Build
        )

    async def get(self, site_id: str, env_id: str, build_id: str) -> types.Build:
        """Read a build.

        Scopes: `deployments:read`.
        """
        return returned(
            types.Build,
            await self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/builds/{in_path(build_id)}",
            ),
        )
