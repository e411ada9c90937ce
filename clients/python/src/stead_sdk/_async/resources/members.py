# Generated from the API description by `make generate`.
"""Members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncMembers(AsyncResource):
    def list(self, team_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Member]:
        """List the members of the team, newest first.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/members"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Member
        )

    async def add(
        self, team_id: str, *, client_id: str, role: types.Role, expires_at: str | Omit | None = OMIT
    ) -> None:
        """Add an account to the team, with a role not above your own.

        Scopes: `teams:write`.
        """
        await self._client._call(
            "POST",
            f"/v1/teams/{in_path(team_id)}/members",
            body={"client_id": client_id, "role": role, "expires_at": expires_at},
            idempotent="key",
        )

    async def update(
        self, team_id: str, client_id: str, *, role: types.Role, expires_at: str | Omit | None = OMIT
    ) -> None:
        """Change the role of a member or the expiry of the membership.

        Scopes: `teams:write`.
        """
        await self._client._call(
            "PATCH",
            f"/v1/teams/{in_path(team_id)}/members/{in_path(client_id)}",
            body={"role": role, "expires_at": expires_at},
            idempotent="none",
        )

    async def remove(self, team_id: str, client_id: str) -> None:
        """Remove a member from the team, or leave it yourself.

        The last owner cannot leave: make another member an owner first, or delete the team.

        Scopes: `teams:write`.
        """
        await self._client._call("DELETE", f"/v1/teams/{in_path(team_id)}/members/{in_path(client_id)}")
