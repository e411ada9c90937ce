# Generated from the API description by `make generate`.
"""Functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stead_sdk import params


class AsyncFunctions(AsyncResource):
    def list(self, *, limit: int | Omit = OMIT) -> AsyncPager[types.Function]:
        """List the functions of all sites that the caller can see, newest first.

        Scopes: `functions:read`.
        """
        path = "/v1/functions"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Function
        )

    async def create(
        self,
        *,
        site_id: str,
        slug: str,
        display_name: str,
        language: types.Language | Omit = OMIT,
        bindings: Sequence[params.Binding] | Omit = OMIT,
        secret_refs: Sequence[str] | Omit = OMIT,
        env: Mapping[str, str] | Omit = OMIT,
        limits: params.Limits | Omit = OMIT,
        route_path: str | Omit = OMIT,
        fresh_instances: bool | Omit = OMIT,
        compatibility_date: str | Omit | None = OMIT,
        source: str | Omit | None = OMIT,
        upload_id: str | Omit | None = OMIT,
        filename: str | Omit | None = OMIT,
        auto_deploy: bool | Omit = OMIT,
    ) -> types.Function:
        """Create a function of a site with the profile `wasm`.

        With `source` it is built, and deployed unless `auto_deploy` is false: `last_build_job_id` names the
        job. It answers at `/_fn/<slug>` of every domain of the site, or at `route_path`.

        Scopes: `functions:write`.
        """
        return returned(
            types.Function,
            await self._client._call(
                "POST",
                "/v1/functions",
                body={
                    "site_id": site_id,
                    "slug": slug,
                    "display_name": display_name,
                    "language": language,
                    "bindings": bindings,
                    "secret_refs": secret_refs,
                    "env": env,
                    "limits": limits,
                    "route_path": route_path,
                    "fresh_instances": fresh_instances,
                    "compatibility_date": compatibility_date,
                    "source": source,
                    "upload_id": upload_id,
                    "filename": filename,
                    "auto_deploy": auto_deploy,
                },
                idempotent="key",
            ),
        )

    def list_for_site(self, site_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Function]:
        """List the functions of a site, newest first.

        Scopes: `functions:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/functions"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Function
        )

    async def get(self, function_id: str) -> types.Function:
        """Read a function.

        Scopes: `functions:read`.
        """
        return returned(
            types.Function, await self._client._call("GET", f"/v1/functions/{in_path(function_id)}")
        )

    async def update(
        self,
        function_id: str,
        *,
        display_name: str | Omit = OMIT,
        bindings: Sequence[params.Binding] | Omit = OMIT,
        secret_refs: Sequence[str] | Omit = OMIT,
        env: Mapping[str, str] | Omit = OMIT,
        limits: params.Limits | Omit = OMIT,
        route_path: str | Omit = OMIT,
        fresh_instances: bool | Omit = OMIT,
        compatibility_date: str | Omit = OMIT,
    ) -> types.Function:
        """Change the settings of a function. They apply from its next deployment or rollback on.

        Scopes: `functions:write`.
        """
        return returned(
            types.Function,
            await self._client._call(
                "PATCH",
                f"/v1/functions/{in_path(function_id)}",
                body={
                    "display_name": display_name,
                    "bindings": bindings,
                    "secret_refs": secret_refs,
                    "env": env,
                    "limits": limits,
                    "route_path": route_path,
                    "fresh_instances": fresh_instances,
                    "compatibility_date": compatibility_date,
                },
                idempotent="none",
            ),
        )

    async def delete(self, function_id: str) -> None:
        """Delete a function. The edges stop serving it within seconds. Its state is kept with the site.

        Scopes: `functions:write`.
        """
        await self._client._call("DELETE", f"/v1/functions/{in_path(function_id)}")

    async def build(
        self,
        function_id: str,
        *,
        source: str | Omit | None = OMIT,
        upload_id: str | Omit | None = OMIT,
        filename: str | Omit | None = OMIT,
        auto_deploy: bool | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Build a function from a new source, or from its stored one.

        Scopes: `functions:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/functions/{in_path(function_id)}/build",
            body={"source": source, "upload_id": upload_id, "filename": filename, "auto_deploy": auto_deploy},
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def deploy(self, function_id: str, *, artifact_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Deploy an artifact of a function.

        The node verifies, compiles and starts the function before any visitor reaches it; then all visitors
        get it at once. If it cannot be started, the job fails and the version before is still served.

        Scopes: `functions:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/functions/{in_path(function_id)}/deploy",
            body={"artifact_id": artifact_id},
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def rollback(self, function_id: str, *, version_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Serve an earlier version of a function again, with its current settings. Nothing is built.

        Scopes: `functions:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/functions/{in_path(function_id)}/rollback",
            body={"version_id": version_id},
            idempotent="key",
        )
        return self._handle(response, result_of)

    def versions(self, function_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.FunctionVersion]:
        """List the versions of a function that can be deployed again, newest first.

        Scopes: `functions:read`.
        """
        path = f"/v1/functions/{in_path(function_id)}/versions"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"limit": limit},
            types.FunctionVersion,
        )
