# Generated from the API description by `make generate`.
"""The commands `stead uploads`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "create": {
        "group": "uploads",
        "summary": "Get a URL to upload an archive to, for a build of files that are in no repository.",
        "description": "Send a tar, tar.gz or zip file of exactly the declared size with one `PUT` and the returned headers, then\nbuild with the id of the upload as `source`. The URL accepts one archive. It is kept until a build of it\nhas succeeded, for one day at most, and counts toward the storage of the plan until then.",
        "method": "POST",
        "path": "/v1/sites/{site_id}/uploads",
        "path_parameters": ["site_id"],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "size_bytes",
                "type": "integer",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "The exact size of the archive. The URL accepts no other.",
            }
        ],
        "body_is_optional": False,
        "kind": "object",
        "can_follow": False,
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    }
}
