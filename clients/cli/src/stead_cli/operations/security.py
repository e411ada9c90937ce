# Generated from the API description by `make generate`.
"""The commands `stead security`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "summary": {
        "group": "security",
        "summary": "Read the vulnerabilities, active detections and last scan of each site. At most 500 sites.",
        "description": "",
        "method": "GET",
        "path": "/v1/security/summary",
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
