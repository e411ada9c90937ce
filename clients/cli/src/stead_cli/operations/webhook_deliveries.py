# Generated from the API description by `make generate`.
"""The commands `stead webhook-deliveries`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "list": {
        "group": "webhook-deliveries",
        "summary": "List the deliveries of the last 30 days, newest first, with their attempts.",
        "description": "",
        "method": "GET",
        "path": "/v1/webhook-endpoints/{endpoint_id}/deliveries",
        "path_parameters": ["endpoint_id"],
        "arguments": ["endpoint_id"],
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
        "columns": ["id", "status", "event_id", "attempts", "response_status", "created_at"],
    },
    "replay": {
        "group": "webhook-deliveries",
        "summary": "Send a delivery again, with the same id and body and a new signature.",
        "description": "",
        "method": "POST",
        "path": "/v1/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay",
        "path_parameters": ["endpoint_id", "delivery_id"],
        "arguments": ["endpoint_id", "delivery_id"],
        "query": [],
        "body": [],
        "body_is_optional": False,
        "kind": "object",
        "can_follow": False,
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
}
