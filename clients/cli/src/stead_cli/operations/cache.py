# Generated from the API description by `make generate`.
"""The commands `stead cache`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "purge": {
        "group": "cache",
        "summary": "Purge pages from the cache of an environment: all pages, those of a URL, or those with a tag.",
        "description": "When the job has succeeded, no visitor gets an older copy, not even one that was being fetched meanwhile.",
        "method": "POST",
        "path": "/v1/sites/{site_id}/environments/{env_id}/cache/purge",
        "path_parameters": ["site_id", "env_id"],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "type",
                "type": "string",
                "required": False,
                "sensitive": False,
                "values": ["all", "tag", "url"],
                "description": "",
            },
            {
                "name": "url",
                "type": "string",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "A path with its query, or an absolute URL.",
            },
            {
                "name": "tag",
                "type": "string",
                "required": False,
                "sensitive": False,
                "values": [],
                "description": "A tag that the site sent in `Cache-Tag`.",
            },
        ],
        "body_is_optional": True,
        "kind": "job",
        "can_follow": False,
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    }
}
