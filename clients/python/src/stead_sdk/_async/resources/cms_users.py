# Generated from the API description by `make generate`.
"""Cms users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncCmsUsers(AsyncResource):
    def list(
        self, site_id: str, *, role: str | Omit | None = OMIT, limit: int | Omit = OMIT
    ) -> AsyncPager[types.CmsUser]:
        """List the users of a site, newest first.

        Scopes: `cms.users:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/users"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"role": role, "limit": limit},
            types.CmsUser,
        )

    async def create(
        self,
        site_id: str,
        *,
        email: str,
        login: str,
        role: str | Omit = OMIT,
        display_name: str | Omit = OMIT,
        first_name: str | Omit = OMIT,
        last_name: str | Omit = OMIT,
        password_delivery: types.PasswordDelivery | Omit = OMIT,
    ) -> types.CmsUserWithPassword:
        """Create a user of a site.

        Scopes: `cms.users:write`.
        """
        return returned(
            types.CmsUserWithPassword,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/users",
                body={
                    "email": email,
                    "login": login,
                    "role": role,
                    "display_name": display_name,
                    "first_name": first_name,
                    "last_name": last_name,
                    "password_delivery": password_delivery,
                },
                idempotent="key",
            ),
        )

    def list_in_environment(
        self, site_id: str, env_id: str, *, role: str | Omit | None = OMIT, limit: int | Omit = OMIT
    ) -> AsyncPager[types.CmsUser]:
        """List the users of a site, newest first.

        Scopes: `cms.users:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/users"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"role": role, "limit": limit},
            types.CmsUser,
        )

    async def create_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        email: str,
        login: str,
        role: str | Omit = OMIT,
        display_name: str | Omit = OMIT,
        first_name: str | Omit = OMIT,
        last_name: str | Omit = OMIT,
        password_delivery: types.PasswordDelivery | Omit = OMIT,
    ) -> types.CmsUserWithPassword:
        """Create a user of a site.

        Scopes: `cms.users:write`.
        """
        return returned(
            types.CmsUserWithPassword,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/users",
                body={
                    "email": email,
                    "login": login,
                    "role": role,
                    "display_name": display_name,
                    "first_name": first_name,
                    "last_name": last_name,
                    "password_delivery": password_delivery,
                },
                idempotent="key",
            ),
        )

    async def get(self, site_id: str, user_id: str) -> types.CmsUser:
        """Read a user of a site.

        Scopes: `cms.users:read`.
        """
        return returned(
            types.CmsUser,
            await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/users/{in_path(user_id)}"),
        )

    async def update(
        self,
        site_id: str,
        user_id: str,
        *,
        email: str | Omit = OMIT,
        role: str | Omit = OMIT,
        display_name: str | Omit = OMIT,
        first_name: str | Omit = OMIT,
        last_name: str | Omit = OMIT,
        password_delivery: types.PasswordDelivery | Omit = OMIT,
    ) -> types.CmsUserWithPassword:
        """Change a user of a site, or give the user a new password.

        A new password signs the user out everywhere. The last administrator keeps that role.

        Scopes: `cms.users:write`.
        """
        return returned(
            types.CmsUserWithPassword,
            await self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/users/{in_path(user_id)}",
                body={
                    "email": email,
                    "role": role,
                    "display_name": display_name,
                    "first_name": first_name,
                    "last_name": last_name,
                    "password_delivery": password_delivery,
                },
                idempotent="none",
            ),
        )

    async def delete(self, site_id: str, user_id: str, *, reassign: str | Omit | None = OMIT) -> None:
        """Delete a user of a site. The last administrator cannot be deleted.

        If the user has written something, `reassign` must name the user who gets it.

        Scopes: `cms.users:write`.
        """
        await self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/users/{in_path(user_id)}", query={"reassign": reassign}
        )

    async def get_in_environment(self, site_id: str, env_id: str, user_id: str) -> types.CmsUser:
        """Read a user of a site.

        Scopes: `cms.users:read`.
        """
        return returned(
            types.CmsUser,
            await self._client._call(
                "GET", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/users/{in_path(user_id)}"
            ),
        )

    async def update_in_environment(
        self,
        site_id: str,
        env_id: str,
        user_id: str,
        *,
        email: str | Omit = OMIT,
        role: str | Omit = OMIT,
        display_name: str | Omit = OMIT,
        first_name: str | Omit = OMIT,
        last_name: str | Omit = OMIT,
        password_delivery: types.PasswordDelivery | Omit = OMIT,
    ) -> types.CmsUserWithPassword:
        """Change a user of a site, or give the user a new password.

        A new password signs the user out everywhere. The last administrator keeps that role.

        Scopes: `cms.users:write`.
        """
        return returned(
            types.CmsUserWithPassword,
            await self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/users/{in_path(user_id)}",
                body={
                    "email": email,
                    "role": role,
                    "display_name": display_name,
                    "first_name": first_name,
                    "last_name": last_name,
                    "password_delivery": password_delivery,
                },
                idempotent="none",
            ),
        )

    async def delete_in_environment(
        self, site_id: str, env_id: str, user_id: str, *, reassign: str | Omit | None = OMIT
    ) -> None:
        """Delete a user of a site. The last administrator cannot be deleted.

        If the user has written something, `reassign` must name the user who gets it.

        Scopes: `cms.users:write`.
        """
        await self._client._call(
            "DELETE",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/users/{in_path(user_id)}",
            query={"reassign": reassign},
        )
