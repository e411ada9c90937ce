# Generated from the API description by `make generate`.
"""Team projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncTeamProjects(AsyncResource):
    def list(self, team_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Project]:
        """List the projects of the team, newest first.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/projects"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Project
        )

    async def create(self, team_id: str, *, name: str) -> types.Project:
        """Create a project of the team.

        Scopes: `teams:write`.
        """
        return returned(
            types.Project,
            await self._client._call(
                "POST", f"/v1/teams/{in_path(team_id)}/projects", body={"name": name}, idempotent="key"
            ),
        )

    async def get(self, team_id: str, project_id: str) -> types.Project:
        """Read a project.

        Scopes: `teams:read`.
        """
        return returned(
            types.Project,
            await self._client._call("GET", f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}"),
        )

    async def update(self, team_id: str, project_id: str, *, name: str | Omit = OMIT) -> types.Project:
        """Rename a project.

        Scopes: `teams:write`.
        """
        return returned(
            types.Project,
            await self._client._call(
                "PATCH",
                f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}",
                body={"name": name},
                idempotent="none",
            ),
        )

    async def delete(self, team_id: str, project_id: str) -> None:
        """Delete a project. Its sites are not deleted.

        Scopes: `teams:write`.
        """
        await self._client._call("DELETE", f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}")

    def sites(self, team_id: str, project_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Site]:
        """List the sites of a project.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}/sites"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Site
        )

    async def assign_site(self, team_id: str, project_id: str, *, site_id: str) -> None:
        """Add a site with the same owner to the project. It is removed from its previous project.

        Scopes: `teams:write`.
        """
        await self._client._call(
            "POST",
            f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}/sites",
            body={"site_id": site_id},
            idempotent="key",
        )

    async def remove_site(self, team_id: str, project_id: str, site_id: str) -> None:
        """Remove a site from the project.

        Scopes: `teams:write`.
        """
        await self._client._call(
            "DELETE", f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}/sites/{in_path(site_id)}"
        )
