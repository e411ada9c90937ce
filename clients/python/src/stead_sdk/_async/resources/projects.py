# Generated from the API description by `make generate`.
"""Projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncProjects(AsyncResource):
    def list(self, *, limit: int | Omit = OMIT) -> AsyncPager[types.Project]:
        """List your own projects, newest first.

        Scopes: `sites:read`.
        """
        path = "/v1/projects"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Project
        )

    async def create(self, *, name: str) -> types.Project:
        """Create a project of your own.

        Scopes: `sites:write`.
        """
        return returned(
            types.Project,
            await self._client._call("POST", "/v1/projects", body={"name": name}, idempotent="key"),
        )

    async def get(self, project_id: str) -> types.Project:
        """Read a project.

        Scopes: `sites:read`.
        """
        return returned(types.Project, await self._client._call("GET", f"/v1/projects/{in_path(project_id)}"))

    async def update(self, project_id: str, *, name: str | Omit = OMIT) -> types.Project:
        """Rename a project.

        Scopes: `sites:write`.
        """
        return returned(
            types.Project,
            await self._client._call(
                "PATCH", f"/v1/projects/{in_path(project_id)}", body={"name": name}, idempotent="none"
            ),
        )

    async def delete(self, project_id: str) -> None:
        """Delete a project. Its sites are not deleted.

        Scopes: `sites:write`.
        """
        await self._client._call("DELETE", f"/v1/projects/{in_path(project_id)}")

    def sites(self, project_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Site]:
        """List the sites of a project.

        Scopes: `sites:read`.
        """
        path = f"/v1/projects/{in_path(project_id)}/sites"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Site
        )

    async def assign_site(self, project_id: str, *, site_id: str) -> None:
        """Add a site with the same owner to the project. It is removed from its previous project.

        Scopes: `sites:write`.
        """
        await self._client._call(
            "POST", f"/v1/projects/{in_path(project_id)}/sites", body={"site_id": site_id}, idempotent="key"
        )

    async def remove_site(self, project_id: str, site_id: str) -> None:
        """Remove a site from the project.

        Scopes: `sites:write`.
        """
        await self._client._call("DELETE", f"/v1/projects/{in_path(project_id)}/sites/{in_path(site_id)}")
