# Generated from the API description by `make generate`.
"""The commands `stead usage`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "storage": {
        "group": "usage",
        "summary": "Get how much each of your sites stores.",
        "description": "Of up to 1,000 sites, the newest ones: now, and on each of the last 30 days.",
        "method": "GET",
        "path": "/v1/usage/storage",
        "path_parameters": [],
        "arguments": [],
        "query": [
            {
                "name": "latest",
                "type": "boolean",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "Only what is stored now, without the series.",
            }
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
