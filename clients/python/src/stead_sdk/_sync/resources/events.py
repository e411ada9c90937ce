# Generated from `_async/resources/events.py` by `make generate`.
"""Events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Events(Resource):
    def list(self, *, type: str | Omit | None = OMIT, limit: int | Omit = OMIT) -> Pager[types.Event]:
        """List the events of the last 30 days that you can see, newest first.

        Events are in commit order. A new event never appears below one that you have already read. To poll,
        read from the top until you reach the newest event of the previous poll.

        Scopes: `events:read`.
        """
        path = "/v1/events"
        return Pager(
            lambda query: self._client._call("GET", path, query=query),
            {"type": type, "limit": limit},
            types.Event,
        )
