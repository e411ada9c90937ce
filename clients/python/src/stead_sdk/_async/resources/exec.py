# Generated from the API description by `make generate`.
"""Exec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence


class AsyncExec(AsyncResource):
    async def run(
        self, site_id: str, env_id: str, *, args: Sequence[str], shell: types.CommandShell | Omit = OMIT
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Run a command of WP-CLI in an environment. What it prints is the output of the job.

        A key with the scope `cms.cli:exec` operates the site: it cannot run PHP, read or write arbitrary
        files, or make somebody an administrator. Every other command is refused with 403 and needs the
        scope `exec:raw`. Sessions have no such limit. If the command ends with an exit code other than 0,
        the job fails with `exec.failed`, and its message contains the exit code.

        Scopes: `cms.cli:exec`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/exec",
            body={"args": args, "shell": shell},
            idempotent="key",
        )
        return self._handle(response, result_of)
