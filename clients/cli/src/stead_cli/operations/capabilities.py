# Generated from the API description by `make generate`.
"""The commands `stead capabilities`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "get": {
        "group": "capabilities",
        "summary": "List the capabilities of a site, which depend on its runtime.",
        "description": "",
        "method": "GET",
        "path": "/v1/sites/{site_id}/capabilities",
        "path_parameters": ["site_id"],
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
