# Generated from the API description by `make generate`.
"""The commands `stead vulnerabilities`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "get": {
        "group": "vulnerabilities",
        "summary": "Read the known vulnerabilities of WordPress, plugins and themes on a site, with their sources.",
        "description": "",
        "method": "GET",
        "path": "/v1/sites/{site_id}/security/vulnerabilities",
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
