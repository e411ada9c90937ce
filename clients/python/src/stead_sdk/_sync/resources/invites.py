# Generated from `_async/resources/invites.py` by `make generate`.
"""Invites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Invites(Resource):
    def list(self, team_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Invite]:
        """List the pending invites of the team.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/invites"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Invite
        )

    def create(
        self,
        team_id: str,
        *,
        role: types.Role,
        email: str | Omit | None = OMIT,
        expires_at: str | Omit | None = OMIT,
    ) -> types.CreatedInvite:
        """Invite somebody to the team, with a role not above your own.

        The token is returned only once, in this response. With an `email`, the token is also sent to that
        address, and only the account with that address can accept the invite, once the address is verified.
        Your own address must be verified for that.

        Scopes: `teams:write`.
        """
        return returned(
            types.CreatedInvite,
            self._client._call(
                "POST",
                f"/v1/teams/{in_path(team_id)}/invites",
                body={"role": role, "email": email, "expires_at": expires_at},
                idempotent="key",
            ),
        )

    def revoke(self, team_id: str, invite_id: str) -> None:
        """Revoke a pending invite.

        Scopes: `teams:write`.
        """
        self._client._call("DELETE", f"/v1/teams/{in_path(team_id)}/invites/{in_path(invite_id)}")

    def accept(self, *, token: str) -> types.Accepted:
        """Accept an invite and join the team.

        Scopes: `account:write`.
        """
        return returned(
            types.Accepted,
            self._client._call("POST", "/v1/invites/accept", body={"token": token}, idempotent="key"),
        )
