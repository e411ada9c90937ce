# Generated from the API description by `make generate`.
"""The commands `stead releases`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "list": {
        "group": "releases",
        "summary": "List the releases of an environment, live and earlier ones, newest first.",
        "description": "",
        "method": "GET",
        "path": "/v1/sites/{site_id}/environments/{env_id}/releases",
        "path_parameters": ["site_id", "env_id"],
        "arguments": [],
        "query": [
            {
                "name": "limit",
                "type": "integer",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "Number of items. Values above 100 mean 100.",
            }
        ],
        "body": [],
        "body_is_optional": False,
        "kind": "list",
        "can_follow": False,
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": ["id", "status", "artifact_id", "digest", "ref", "created_at"],
    }
}
