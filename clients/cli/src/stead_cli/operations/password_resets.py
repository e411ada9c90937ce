# Generated from the API description by `make generate`.
"""The commands `stead password-resets`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "create": {
        "group": "password-resets",
        "summary": "Send an email with a token for a new password to the address of an account.",
        "description": "The response is the same whether there is such an account or not. Only verified addresses get the email.\nThe token is valid for an hour, once; a newer one replaces it.",
        "method": "POST",
        "path": "/v1/password-resets",
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
            }
        ],
        "body_is_optional": False,
        "kind": "none",
        "can_follow": False,
        "idempotent": "none",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
    "confirm": {
        "group": "password-resets",
        "summary": "Choose a new password with the token from the email. All sessions of the account end.",
        "description": "API keys stay valid. Revoke those that somebody else may know.",
        "method": "POST",
        "path": "/v1/password-resets/confirm",
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
            },
            {
                "name": "new_password",
                "type": "string",
                "required": True,
                "sensitive": True,
                "values": [],
                "description": "",
            },
        ],
        "body_is_optional": False,
        "kind": "none",
        "can_follow": False,
        "idempotent": "none",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
}
