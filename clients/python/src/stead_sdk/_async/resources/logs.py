# Generated from the API description by `make generate`.
"""Logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.live import LiveEvent, follow_live
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class AsyncLogs(AsyncResource):
    async def tail(
        self,
        *,
        hours: int | Omit = OMIT,
        severity: types.LogTailSeverity | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.Logs:
        """List the latest log lines of all your sites.

        Those of the production environments of up to 1,000 sites, the newest ones. With `Accept:
        text/event-stream`: an event `line` for each new one that meets the filters.

        Scopes: `observability:read`.
        """
        return returned(
            types.Logs,
            await self._client._call(
                "GET", "/v1/logs", query={"hours": hours, "severity": severity, "limit": limit}
            ),
        )

    def follow_tail(
        self,
        *,
        hours: int | Omit = OMIT,
        severity: types.LogTailSeverity | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncIterator[LiveEvent[types.LogLine]]:
        """Follow what is new: list the latest log lines of all your sites.

        It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what
        arrived meanwhile is missing.

        Scopes: `observability:read`.
        """
        return follow_live(
            self._client, "/v1/logs", {"hours": hours, "severity": severity, "limit": limit}, types.LogLine
        )

    async def volume(
        self, *, hours: int | Omit = OMIT, severity: types.LogVolumeSeverity | Omit | None = OMIT
    ) -> types.LogVolume:
        """Count the log lines of all your sites over time, by severity.

        Scopes: `observability:read`.
        """
        return returned(
            types.LogVolume,
            await self._client._call("GET", "/v1/logs/volume", query={"hours": hours, "severity": severity}),
        )
