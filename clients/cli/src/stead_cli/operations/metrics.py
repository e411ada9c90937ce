# Generated from the API description by `make generate`.
"""The commands `stead metrics`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "series": {
        "group": "metrics",
        "summary": "Get a metric of all your sites over time.",
        "description": "Of the production environments of up to 1,000 sites, the newest ones.",
        "method": "GET",
        "path": "/v1/metrics",
        "path_parameters": [],
        "arguments": [],
        "query": [
            {
                "name": "name",
                "type": "string",
                "required": True,
                "sensitive": False,
                "values": [
                    "bytes_in",
                    "bytes_out",
                    "cache_hit_pct",
                    "client_errors",
                    "errors",
                    "first_byte_p75_ms",
                    "first_byte_p95_ms",
                    "requests",
                ],
                "description": "Which metric.",
            },
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
                "description": "How many points to return.",
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
