# Generated from the API description by `make generate`.
"""The commands `stead exec`."""

from typing import Any

OPERATIONS: dict[str, dict[str, Any]] = {
    "run": {
        "group": "exec",
        "summary": "Run a command of WP-CLI in an environment. What it prints is the output of the job.",
        "description": "A key with the scope `cms.cli:exec` operates the site: it cannot run PHP, read or write arbitrary files,\nor make somebody an administrator. Every other command is refused with 403 and needs the scope `exec:raw`.\nSessions have no such limit. If the command ends with an exit code other than 0, the job fails with\n`exec.failed`, and its message contains the exit code.",
        "method": "POST",
        "path": "/v1/sites/{site_id}/environments/{env_id}/exec",
        "path_parameters": ["site_id", "env_id"],
        "arguments": [],
        "query": [],
        "body": [
            {
                "name": "args",
                "type": "strings",
                "required": True,
                "sensitive": False,
                "values": [],
                "description": "The arguments, without the name of the program.",
            },
            {
                "name": "shell",
                "type": "string",
                "required": False,
                "sensitive": False,
                "values": ["bash", "cms-cli"],
                "description": "The program: WP-CLI, or bash, which needs the scope `exec:raw`.",
            },
        ],
        "body_is_optional": False,
        "kind": "job",
        "can_follow": False,
        "idempotent": "key",
        "destructive": "none",
        "read_with": None,
        "columns": [],
    }
}
