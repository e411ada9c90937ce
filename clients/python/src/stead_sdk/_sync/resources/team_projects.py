# Generated from `_async/resources/team_projects.py` by `make generate`.
"""Team projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class TeamProjects(Resource):
    def list(self, team_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Project]:
        """List the projects of the team, newest first.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/projects"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Project
        )

    def create(self, team_id: str, *, name: str) -> types.Project:
        """Create a project of the team.

        Scopes: `teams:write`.
        """
        return returned(
            types.Project,
            self._client._call(
                "POST", f"/v1/teams/{in_path(team_id)}/projects", body={"name": name}, idempotent="key"
            ),
        )

    def get(self, team_id: str, project_id: str) -> types.Project:
        """Read a project.

        Scopes: `teams:read`.
        """
        return returned(
            types.Project,
            self._client._call("GET", f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}"),
        )

    def update(self, team_id: str, project_id: str, *, name: str | Omit = OMIT) -> types.Project:
        """Rename a project.

        Scopes: `teams:write`.
        """
        return returned(
            types.Project,
            self._client._call(
                "PATCH",
                f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}",
                body={"name": name},
                idempotent="none",
            ),
        )

    def delete(self, team_id: str, project_id: str) -> None:
        """Delete a project. Its sites are not deleted.

        Scopes: `teams:write`.
        """
        self._client._call("DELETE", f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}")

    def sites(self, team_id: str, project_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Site]:
        """List the sites of a project.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}/sites"
        return Pager(lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Site)

    def assign_site(self, team_id: str, project_id: str, *, site_id: str) -> None:
        """Add a site with the same owner to the project. It is removed from its previous project.

        Scopes: `teams:write`.
        """
        self._client._call(
            "POST",
            f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}/sites",
            body={"site_id": site_id},
            idempotent="key",
        )

    def remove_site(self, team_id: str, project_id: str, site_id: str) -> None:
        """Remove a site from the project.

        Scopes: `teams:write`.
        """
        self._client._call(
            "DELETE", f"/v1/teams/{in_path(team_id)}/projects/{in_path(project_id)}/sites/{in_path(site_id)}"
        )
