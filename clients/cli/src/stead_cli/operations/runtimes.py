# Generated from the API description by `make generate`.
"""The commands `stead runtimes`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "list": {
        "group": "runtimes",
        "summary": "List all runtimes, including planned ones, with the capabilities of their sites.",
        "description": "",
        "method": "GET",
        "path": "/v1/runtimes",
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
