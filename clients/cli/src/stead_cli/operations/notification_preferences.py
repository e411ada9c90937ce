# Generated from the API description by `make generate`.
"""The commands `stead notification-preferences`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "get": {
        "group": "notification-preferences",
        "summary": "Read for which categories you get email.",
        "description": "",
        "method": "GET",
        "path": "/v1/notification-preferences",
        "path_parameters": [],
        "arguments": [],
        "query": [],
        "body": [],
        "body_is_optional": False,
        "kind": "object",
        "can_follow": False,
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
    "replace": {
        "group": "notification-preferences",
        "summary": "Set for which categories you get email. Email is on for categories that you do not list.",
        "description": "",
        "method": "PUT",
        "path": "/v1/notification-preferences",
        "path_parameters": [],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "preferences",
                "type": "json",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "Email is on for categories that are not listed.",
            }
        ],
        "body_is_optional": False,
        "kind": "object",
        "can_follow": False,
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
}
