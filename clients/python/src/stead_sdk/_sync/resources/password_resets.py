# Generated from `_async/resources/password_resets.py` by `make generate`.
"""Password resets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class PasswordResets(Resource):
    def create(self, *, email: str) -> None:
        """Send an email with a token for a new password to the address of an account.

        The response is the same whether there is such an account or not. Only verified addresses get the
        email. The token is valid for an hour, once; a newer one replaces it.
        """
        self._client._call("POST", "/v1/password-resets", body={"email": email}, idempotent="none")

    def confirm(self, *, token: str, new_password: str) -> None:
        """Choose a new password with the token from the email. All sessions of the account end.

        API keys stay valid. Revoke those that somebody else may know.
        """
        self._client._call(
            "POST",
            "/v1/password-resets/confirm",
            body={"token": token, "new_password": new_password},
            idempotent="none",
        )
