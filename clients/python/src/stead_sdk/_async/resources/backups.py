# Generated from the API description by `make generate`.
"""Backups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.resource import AsyncResource, result_of

if TYPE_CHECKING:
    pass


class AsyncBackups(AsyncResource):
    async def create(self, site_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Take a snapshot of the production environment: database, files, release and configuration.

        The job restores the snapshot on trial before it succeeds: rows and files are compared with the
        original, and WordPress is started without a network and must answer. A snapshot that fails this is
        not kept.

        Scopes: `backups:write`.
        """
        response = await self._client._call("POST", f"/v1/sites/{in_path(site_id)}/backup", idempotent="key")
        return self._handle(response, result_of)

    async def restore(self, site_id: str, snapshot_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Restore a snapshot in place: database, files, release, redirects and configuration are replaced.

        The current state becomes a snapshot first (`before_restore`). The restored state is prepared beside
        it, and visitors get it in one step. If the site does not answer then, it returns to the state
        before, and the job fails. A failed restore can be repeated. The version of PHP, the domains, and
        the settings in `security` stay as they are.

        Scopes: `backups:write`.
        """
        response = await self._client._call(
            "POST", f"/v1/sites/{in_path(site_id)}/snapshots/{in_path(snapshot_id)}/restore", idempotent="key"
        )
        return self._handle(response, result_of)

    async def status(self) -> types.Backups:
        """Read the latest snapshot of each site, and how its last backup ended. At most 500 sites.

        Scopes: `backups:read`.
        """
        return returned(types.Backups, await self._client._call("GET", "/v1/backups/status"))
