# Generated from the API description by `make generate`.
"""The commands `stead rate-limits`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "get": {
        "group": "rate-limits",
        "summary": "Read the rate limits of this credential. This request does not count toward them.",
        "description": "",
        "method": "GET",
        "path": "/v1/rate-limits",
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
    }
}
