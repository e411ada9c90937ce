# Generated from the API description by `make generate`.
"""The commands `stead artifacts`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "list": {
        "group": "artifacts",
        "summary": "List the artifacts that can be deployed, newest first.",
        "description": "An artifact belongs to the site: it can be deployed to every environment, whichever it was built for.\nArtifacts that no environment has used lately are removed after 30 days; the ten newest are always kept.",
        "method": "GET",
        "path": "/v1/sites/{site_id}/environments/{env_id}/artifacts",
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
        "columns": ["id", "digest", "signature_ref", "serve_model", "ref", "created_at"],
    }
}
