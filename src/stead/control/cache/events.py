"""Event types of the page cache."""

from stead.control.outbox.event_types import EventType, SitePayload

ENVIRONMENT_CACHE_PURGED = EventType(
    "environment.cache_purged", "environment", "Pages were purged from a cache", data=SitePayload
)
