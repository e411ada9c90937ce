# Generated from the API description by `make generate`.
"""Account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncAccount(AsyncResource):
    async def send_verification(self) -> None:
        """Send the email for verifying the address of the account again.

        Nothing is sent if the address is verified already.

        Scopes: `account:write`.
        """
        await self._client._call("POST", "/v1/account/verification", idempotent="key")

    async def get(self) -> types.Account:
        """Read the account and the scopes of this credential.

        Scopes: `account:read`.
        """
        return returned(types.Account, await self._client._call("GET", "/v1/account"))

    async def close(self, *, current_password: str) -> types.ClosedAccount:
        """Close the account.

        All sessions and API keys end at once, the account leaves its teams, and its own sites are deleted.
        Sites of teams stay. For thirty days, the operator can open the account again, and the sites can be
        recovered then. After that, the content of the sites and the personal data of the account are
        erased.

        Scopes: `account:admin`.
        """
        return returned(
            types.ClosedAccount,
            await self._client._call("DELETE", "/v1/account", body={"current_password": current_password}),
        )

    async def update(
        self,
        *,
        name: str | Omit = OMIT,
        default_team_id: str | Omit | None = OMIT,
        billing_cc_email: str | Omit | None = OMIT,
        new_email: str | Omit = OMIT,
        new_password: str | Omit = OMIT,
        current_password: str | Omit = OMIT,
    ) -> None:
        """Change the account.

        A new email address or password requires `current_password`. A token is sent to a new address, which
        replaces the current one when it is confirmed. The response is the same if another account has the
        address: its owner gets an email about it. A new password ends all other sessions.

        Scopes: `account:write`.
        """
        await self._client._call(
            "PATCH",
            "/v1/account",
            body={
                "name": name,
                "default_team_id": default_team_id,
                "billing_cc_email": billing_cc_email,
                "new_email": new_email,
                "new_password": new_password,
                "current_password": current_password,
            },
            idempotent="none",
        )

    def audit(
        self,
        *,
        event: str | Omit | None = OMIT,
        actor: str | Omit | None = OMIT,
        since: str | Omit | None = OMIT,
        until: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.AuditEvent]:
        """List the actions of your account and its API keys, including denied ones.

        Scopes: `audit:read`.
        """
        path = "/v1/account/audit"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"event": event, "actor": actor, "since": since, "until": until, "limit": limit},
            types.AuditEvent,
        )
