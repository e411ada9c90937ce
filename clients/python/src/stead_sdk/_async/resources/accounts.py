# Generated from the API description by `make generate`.
"""Accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncAccounts(AsyncResource):
    async def sign_up(self, *, email: str, password: str, name: str) -> types.SignedUp:
        """Sign up for an account.

        An email with a token is sent to the address. The account exists when the token was sent to `POST
        /v1/accounts/verify-email`; then sign in with `POST /v1/sessions`. The response is the same if the
        address has an account already: its owner gets an email about it. Installations that do not verify
        addresses create the account at once, and refuse an address that has one.
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

    async def verify_email(self, *, token: str, password: str | Omit | None = OMIT) -> None:
        """Confirm an email address with the token that was sent to it.

        If the token was sent because of a sign-up, the account exists from now on; `password` must be the
        one of the sign-up. If it was sent because of `new_email`, the account has the new address.
        """
        await self._client._call(
            "POST",
            "/v1/accounts/verify-email",
            body={"token": token, "password": password},
            idempotent="none",
        )
