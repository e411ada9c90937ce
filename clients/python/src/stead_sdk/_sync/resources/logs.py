# Generated from `_async/resources/logs.py` by `make generate`.
"""Logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import returned
from stead_sdk._sync.live import LiveEvent, follow_live
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator


class Logs(Resource):
    def tail(
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
            self._client._call(
                "GET", "/v1/logs", query={"hours": hours, "severity": severity, "limit": limit}
            ),
        )

    def follow_tail(
        self,
        *,
        hours: int | Omit = OMIT,
        severity: types.LogTailSeverity | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> Iterator[LiveEvent[types.LogLine]]:
        """Follow what is new: list the latest log lines of all your sites.

        It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what
        arrived meanwhile is missing.

        Scopes: `observability:read`.
        """
        return follow_live(
            self._client, "/v1/logs", {"hours": hours, "severity": severity, "limit": limit}, types.LogLine
        )

    def volume(
        self, *, hours: int | Omit = OMIT, severity: types.LogVolumeSeverity | Omit | None = OMIT
    ) -> types.LogVolume:
        """Count the log lines of all your sites over time, by severity.

        Scopes: `observability:read`.
        """
        return returned(
            types.LogVolume,
            self._client._call("GET", "/v1/logs/volume", query={"hours": hours, "severity": severity}),
        )
