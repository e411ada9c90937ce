# Generated from the API description by `make generate`.
"""The commands `stead openapi`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "get": {
        "group": "openapi",
        "summary": "Read this description, as OpenAPI 3.1.",
        "description": "It is compressed if you accept gzip. The response has an `ETag`. If you send it in `If-None-Match`,\nthe response is 304 until the description changes.",
        "method": "GET",
        "path": "/v1/openapi.json",
        "path_parameters": [],
        "arguments": [],
        "query": [],
        "body": [],
        "body_is_optional": False,
        "kind": "document",
        "can_follow": False,
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    }
}
