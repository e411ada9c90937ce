# Generated from the API description by `make generate`.
"""Accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource

if TYPE_CHECKING:
    pass


class AsyncAccounts(AsyncResource):
    async def sign_up(self, *, email: str, password: str, name: str) -> types.SignedUp:
        """Create an account.

        Sign in afterwards with `POST /v1/sessions`. An email with a token is sent to the address; confirm
        it with `POST /v1/accounts/verify-email`. Until then, the account gets no other email and cannot
        send invites by email or accept those that were sent to its address.
        """
        return returned(
            types.SignedUp,
            await self._client._call(
                "POST",
                "/v1/accounts",
                body={"email": email, "password": password, "name": name},
                idempotent="none",
            ),
        )

    async def verify_email(self, *, token: str) -> None:
        """Confirm an email address with the token that was sent to it.

        If the token was sent because of `new_email`, the account has the new address from now on.
        """
        await self._client._call(
            "POST", "/v1/accounts/verify-email", body={"token": token}, idempotent="none"
        )
