# Generated from the API description by `make generate`.
"""Events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncEvents(AsyncResource):
    def list(self, *, type: str | Omit | None = OMIT, limit: int | Omit = OMIT) -> AsyncPager[types.Event]:
        """List the events of the last 30 days that you can see, newest first.

        Events are in commit order. A new event never appears below one that you have already read. To poll,
        read from the top until you reach the newest event of the previous poll.

        Scopes: `events:read`.
        """
        path = "/v1/events"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"type": type, "limit": limit},
            types.Event,
        )
