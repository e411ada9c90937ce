# Generated from `_async/resources/projects.py` by `make generate`.
"""Projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Projects(Resource):
    def list(self, *, limit: int | Omit = OMIT) -> Pager[types.Project]:
        """List your own projects, newest first.

        Scopes: `sites:read`.
        """
        path = "/v1/projects"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Project
        )

    def create(self, *, name: str) -> types.Project:
        """Create a project of your own.

        Scopes: `sites:write`.
        """
        return returned(
            types.Project, self._client._call("POST", "/v1/projects", body={"name": name}, idempotent="key")
        )

    def get(self, project_id: str) -> types.Project:
        """Read a project.

        Scopes: `sites:read`.
        """
        return returned(types.Project, self._client._call("GET", f"/v1/projects/{in_path(project_id)}"))

    def update(self, project_id: str, *, name: str | Omit = OMIT) -> types.Project:
        """Rename a project.

        Scopes: `sites:write`.
        """
        return returned(
            types.Project,
            self._client._call(
                "PATCH", f"/v1/projects/{in_path(project_id)}", body={"name": name}, idempotent="none"
            ),
        )

    def delete(self, project_id: str) -> None:
        """Delete a project. Its sites are not deleted.

        Scopes: `sites:write`.
        """
        self._client._call("DELETE", f"/v1/projects/{in_path(project_id)}")

    def sites(self, project_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Site]:
        """List the sites of a project.

        Scopes: `sites:read`.
        """
        path = f"/v1/projects/{in_path(project_id)}/sites"
        return Pager(lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Site)

    def assign_site(self, project_id: str, *, site_id: str) -> None:
        """Add a site with the same owner to the project. It is removed from its previous project.

        Scopes: `sites:write`.
        """
        self._client._call(
            "POST", f"/v1/projects/{in_path(project_id)}/sites", body={"site_id": site_id}, idempotent="key"
        )

    def remove_site(self, project_id: str, site_id: str) -> None:
        """Remove a site from the project.

        Scopes: `sites:write`.
        """
        self._client._call("DELETE", f"/v1/projects/{in_path(project_id)}/sites/{in_path(site_id)}")
