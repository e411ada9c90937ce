# Generated from the API description by `make generate`.
"""Sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncSessions(AsyncResource):
    async def create(self, *, email: str, password: str) -> types.Session:
        """Sign in with email address and password.

        The token is a Bearer credential with all scopes. It expires 12 hours after its last use, and at the
        latest 30 days after sign-in. Attempts are rate limited per address and account, and more so from
        addresses that have never signed in to the account.
        """
        return returned(
            types.Session,
            await self._client._call(
                "POST", "/v1/sessions", body={"email": email, "password": password}, idempotent="none"
            ),
        )

    def list(self, *, limit: int | Omit = OMIT) -> AsyncPager[types.SessionSummary]:
        """List the sessions of the account that have not ended, newest first.

        Scopes: `account:read`.
        """
        path = "/v1/sessions"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.SessionSummary
        )

    async def revoke(self) -> None:
        """End the current session.

        With an API key, this does nothing: revoke a key with `DELETE /v1/api-keys/{key_id}`.
        """
        await self._client._call("DELETE", "/v1/sessions/current")

    async def revoke_one(self, session_id: str) -> None:
        """End a session. Its token stops working immediately.

        Scopes: `account:write`.
        """
        await self._client._call("DELETE", f"/v1/sessions/{in_path(session_id)}")
