# Generated from the API description by `make generate`.
"""The commands `stead deployments`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "create": {
        "group": "deployments",
        "summary": "Deploy an artifact to an environment.",
        "description": "The node fetches, verifies and probes the release before any visitor sees it; then all visitors get it at\nonce. If the probe fails, the job fails and the previous release is still served.",
        "method": "POST",
        "path": "/v1/sites/{site_id}/environments/{env_id}/deployments",
        "path_parameters": ["site_id", "env_id"],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "artifact_id",
                "type": "string",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "An artifact of this site, built for any of its environments.",
            }
        ],
        "body_is_optional": False,
        "kind": "job",
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
    "list": {
        "group": "deployments",
        "summary": "List the deployments of an environment, newest first.",
        "description": "",
        "method": "GET",
        "path": "/v1/sites/{site_id}/environments/{env_id}/deployments",
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
        "idempotent": "natural",
        "destructive": "none",
        "read_with": None,
        "columns": ["id", "status", "kind", "env_id", "artifact_id", "created_at"],
    },
    "rollback": {
        "group": "deployments",
        "summary": "Roll back to the release of an earlier deployment. Nothing is built.",
        "description": "",
        "method": "POST",
        "path": "/v1/sites/{site_id}/environments/{env_id}/deployments/{deployment_id}/rollback",
        "path_parameters": ["site_id", "env_id", "deployment_id"],
        "arguments": ["deployment_id"],
        "query": [],
        "body": [],
        "body_is_optional": False,
        "kind": "job",
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
    "promote": {
        "group": "deployments",
        "summary": "Deploy the live release of this environment to another environment of the site. Nothing is built.",
        "description": "",
        "method": "POST",
        "path": "/v1/sites/{site_id}/environments/{env_id}/promote",
        "path_parameters": ["site_id", "env_id"],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "to_env",
                "type": "string",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "The environment to deploy to: its id, or `production`.",
            }
        ],
        "body_is_optional": False,
        "kind": "job",
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    },
}
