# Generated from `_async/resources/exec.py` by `make generate`.
"""Exec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path
from stead_sdk._sync.jobs import JobHandle
from stead_sdk._sync.resource import Resource, result_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Exec(Resource):
    def run(
        self, site_id: str, env_id: str, *, args: Sequence[str], shell: types.CommandShell | Omit = OMIT
    ) -> JobHandle[dict[str, Any]]:
        """Run a command of WP-CLI in an environment. What it prints is the output of the job.

        A key with the scope `cms.cli:exec` operates the site: it cannot run PHP, read or write arbitrary
        files, or make somebody an administrator. Every other command is refused with 403 and needs the
        scope `exec:raw`. Sessions have no such limit. If the command ends with an exit code other than 0,
        the job fails with `exec.failed`, and its message contains the exit code.

        Scopes: `cms.cli:exec`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/exec",
            body={"args": args, "shell": shell},
            idempotent="key",
        )
        return self._handle(response, result_of)
