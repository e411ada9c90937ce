# Generated from the API description by `make generate`.
"""Components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stead_sdk import params


class AsyncComponents(AsyncResource):
    def list(
        self,
        site_id: str,
        *,
        kind: types.ComponentKind | Omit | None = OMIT,
        status: types.ComponentStatus | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.Component]:
        """List the plugins and themes of a site, with the updates that WordPress knows of.

        A key that may read only plugins sees only plugins, and one that may read only themes sees only
        themes.

        Scopes: `cms.plugins:read`, `cms.themes:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/components"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"kind": kind, "status": status, "limit": limit},
            types.Component,
        )

    async def install(
        self,
        site_id: str,
        *,
        kind: types.ComponentKind,
        slug: str,
        source: str | Omit = OMIT,
        version: str | Omit = OMIT,
        activate: bool | Omit = OMIT,
        force: bool | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Install a plugin or theme from the registry of WordPress, or from an upload.

        A snapshot of production is taken first. If the site does not answer afterwards, what was installed
        is removed again, and the job fails with `component.unhealthy`. A version with a known vulnerability
        is refused without `force`. WordPress itself is updated by the platform.

        Scopes: `cms.plugins:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/components",
            body={
                "kind": kind,
                "slug": slug,
                "source": source,
                "version": version,
                "activate": activate,
                "force": force,
            },
            idempotent="key",
        )
        return self._handle(response, result_of)

    def list_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        kind: types.ComponentKind | Omit | None = OMIT,
        status: types.ComponentStatus | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.Component]:
        """List the plugins and themes of a site, with the updates that WordPress knows of.

        A key that may read only plugins sees only plugins, and one that may read only themes sees only
        themes.

        Scopes: `cms.plugins:read`, `cms.themes:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/components"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"kind": kind, "status": status, "limit": limit},
            types.Component,
        )

    async def install_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        kind: types.ComponentKind,
        slug: str,
        source: str | Omit = OMIT,
        version: str | Omit = OMIT,
        activate: bool | Omit = OMIT,
        force: bool | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Install a plugin or theme from the registry of WordPress, or from an upload.

        A snapshot of production is taken first. If the site does not answer afterwards, what was installed
        is removed again, and the job fails with `component.unhealthy`. A version with a known vulnerability
        is refused without `force`. WordPress itself is updated by the platform.

        Scopes: `cms.plugins:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/components",
            body={
                "kind": kind,
                "slug": slug,
                "source": source,
                "version": version,
                "activate": activate,
                "force": force,
            },
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def update(
        self,
        site_id: str,
        component_id: str,
        *,
        version: str | Omit = OMIT,
        status: types.ComponentUpdateStatus | Omit = OMIT,
        force: bool | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Update a plugin or theme to a version of the registry, or activate or deactivate it.

        If the site does not answer afterwards, the earlier version and status come back at once. A version
        with a known vulnerability is refused without `force`.

        Scopes: `cms.plugins:write`, `cms.themes:write`.
        """
        response = await self._client._call(
            "PATCH",
            f"/v1/sites/{in_path(site_id)}/components/{in_path(component_id)}",
            body={"version": version, "status": status, "force": force},
            idempotent="none",
        )
        return self._handle(response, result_of)

    async def delete(self, site_id: str, component_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Deactivate a plugin and delete it, or delete a theme that is not active.

        Scopes: `cms.plugins:write`, `cms.themes:write`.
        """
        response = await self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/components/{in_path(component_id)}", idempotent="key"
        )
        return self._handle(response, result_of)

    async def update_in_environment(
        self,
        site_id: str,
        env_id: str,
        component_id: str,
        *,
        version: str | Omit = OMIT,
        status: types.ComponentUpdateStatus | Omit = OMIT,
        force: bool | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Update a plugin or theme to a version of the registry, or activate or deactivate it.

        If the site does not answer afterwards, the earlier version and status come back at once. A version
        with a known vulnerability is refused without `force`.

        Scopes: `cms.plugins:write`, `cms.themes:write`.
        """
        response = await self._client._call(
            "PATCH",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/components/{in_path(component_id)}",
            body={"version": version, "status": status, "force": force},
            idempotent="none",
        )
        return self._handle(response, result_of)

    async def delete_in_environment(
        self, site_id: str, env_id: str, component_id: str
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Deactivate a plugin and delete it, or delete a theme that is not active.

        Scopes: `cms.plugins:write`, `cms.themes:write`.
        """
        response = await self._client._call(
            "DELETE",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/components/{in_path(component_id)}",
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def batch(
        self, site_id: str, *, operations: Sequence[params.ComponentOperation]
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Change several plugins and themes, one after the other.

        The output of the job reports each of them. The job fails if none could be changed.

        Scopes: `cms.plugins:write`, `cms.themes:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/components:batch",
            body={"operations": operations},
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def batch_in_environment(
        self, site_id: str, env_id: str, *, operations: Sequence[params.ComponentOperation]
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Change several plugins and themes, one after the other.

        The output of the job reports each of them. The job fails if none could be changed.

        Scopes: `cms.plugins:write`, `cms.themes:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/components:batch",
            body={"operations": operations},
            idempotent="key",
        )
        return self._handle(response, result_of)
