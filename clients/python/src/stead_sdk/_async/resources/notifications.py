# Generated from the API description by `make generate`.
"""Notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence


class AsyncNotifications(AsyncResource):
    def list(
        self,
        *,
        unread: bool | Omit | None = OMIT,
        bell: bool | Omit | None = OMIT,
        category: str | Omit | None = OMIT,
        severity: types.Severity | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.Notification]:
        """List your notifications, newest first.

        `bell` selects highlighted notifications: warnings and worse, and every deployment.

        Scopes: `notifications:read`.
        """
        path = "/v1/notifications"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"unread": unread, "bell": bell, "category": category, "severity": severity, "limit": limit},
            types.Notification,
        )

    async def unread_count(self) -> types.Unread:
        """Count your unread notifications.

        Scopes: `notifications:read`.
        """
        return returned(types.Unread, await self._client._call("GET", "/v1/notifications/unread-count"))

    async def mark_read(self, *, ids: Sequence[str] | Omit = OMIT, all: bool | Omit = OMIT) -> types.Marked:
        """Mark the listed notifications, or all, as read.

        A test key marks only those of test sites.

        Scopes: `notifications:write`.
        """
        return returned(
            types.Marked,
            await self._client._call(
                "POST", "/v1/notifications/read", body={"ids": ids, "all": all}, idempotent="key"
            ),
        )
