# Generated from `_async/resources/builds.py` by `make generate`.
"""Builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.jobs import JobHandle, field_of
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Builds(Resource):
    def create(
        self,
        site_id: str,
        env_id: str,
        *,
        builder: str,
        source_ref: str | Omit | None = OMIT,
        commit: str | Omit | None = OMIT,
        source: str | Omit | None = OMIT,
        auto_deploy: bool | Omit = OMIT,
    ) -> JobHandle[types.Build]:
        """Build an artifact from the repository of the site, from an upload, or from an archive at another
        URL.

        The output of the job contains every line of the build. The result of a successful job contains the
        `artifact_id`.

        Scopes: `deployments:write`.
        """
        response = self._client._call(
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

        def read(job: types.Job) -> types.Build:
            return self._client.builds.get(
                field_of(job, "site_id"), field_of(job, "env_id"), field_of(job, "build_id")
            )

        return self._handle(response, read)

    def list(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Build]:
        """List the builds of an environment, newest first.

        Scopes: `deployments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/builds"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Build
        )

    def get(self, site_id: str, env_id: str, build_id: str) -> types.Build:
        """Read a build.

        Scopes: `deployments:read`.
        """
        return returned(
            types.Build,
            self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/builds/{in_path(build_id)}",
            ),
        )
