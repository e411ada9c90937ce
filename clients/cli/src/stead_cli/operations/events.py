# Generated from the API description by `make generate`.
"""The commands `stead events`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "list": {
        "group": "events",
        "summary": "List the events of the last 30 days that you can see, newest first.",
        "description": "Events are in commit order. A new event never appears below one that you have already read. To poll, read\nfrom the top until you reach the newest event of the previous poll.",
        "method": "GET",
        "path": "/v1/events",
        "path_parameters": [],
        "arguments": [],
        "query": [
            {
                "name": "type",
                "type": "string",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "Only this type.",
            },
            {
                "name": "limit",
                "type": "integer",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "Number of items. Values above 100 mean 100.",
            },
        ],
        "body": [],
        "body_is_optional": False,
        "kind": "list",
        "can_follow": False,
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": ["id", "type", "site_id", "env_id", "job_id", "created_at"],
    }
}
