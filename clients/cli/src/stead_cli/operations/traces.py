# Generated from the API description by `make generate`.
"""The commands `stead traces`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "recent": {
        "group": "traces",
        "summary": "List the latest spans of traced requests of all your sites.",
        "description": "Of the production environments of up to 1,000 sites, the newest ones.",
        "method": "GET",
        "path": "/v1/traces",
        "path_parameters": [],
        "arguments": [],
        "query": [
            {
                "name": "hours",
                "type": "integer",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "How far to look back.",
            },
            {
                "name": "limit",
                "type": "integer",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "How many spans to return.",
            },
        ],
        "body": [],
        "body_is_optional": False,
        "kind": "object",
        "can_follow": False,
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    }
}
