"""Transports: the functions that receive every numbered event."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from stead.control.engines.postgres import Tx
from stead.control.outbox.event_types import EventCatalog


class PublishedEvent(Struct, frozen=True):
    id: str
    type: str
    account_id: str | None
    team_id: str | None
    site_id: str | None
    env_id: str | None
    mode: str | None
    data: dict[str, Any]
    created_at: datetime


Transport = Callable[[Tx, Sequence[PublishedEvent], EventCatalog], Awaitable[None]]
"""Receives events in the transaction that numbers them. What it writes commits together with the positions of
the events, so that no event is lost or handled twice."""
