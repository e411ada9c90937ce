# Generated from the API description by `make generate`.
"""The commands `stead accounts`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "sign-up": {
        "group": "accounts",
        "summary": "Create an account.",
        "description": "Sign in afterwards with `POST /v1/sessions`. An email with a token is sent to the address; confirm it with\n`POST /v1/accounts/verify-email`. Until then, the account gets no other email and cannot send invites by\nemail or accept those that were sent to its address.",
        "method": "POST",
        "path": "/v1/accounts",
        "path_parameters": [],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "email",
                "type": "string",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "",
            },
            {
                "name": "password",
                "type": "string",
                "required": True,
                "sensitive": True,
                "values": [],
                "description": "At least 12 characters; stored as an argon2id hash.",
            },
            {
                "name": "name",
                "type": "string",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "",
            },
        ],
        "body_is_optional": False,
        "kind": "object",
        "idempotent": "none",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
    "verify-email": {
        "group": "accounts",
        "summary": "Confirm an email address with the token that was sent to it.",
        "description": "If the token was sent because of `new_email`, the account has the new address from now on.",
        "method": "POST",
        "path": "/v1/accounts/verify-email",
        "path_parameters": [],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "token",
                "type": "string",
                "required": True,
                "sensitive": True,
                "values": [],
                "description": "From the email.",
            }
        ],
        "body_is_optional": False,
        "kind": "none",
        "idempotent": "none",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
}
