"""Event types of configuration."""

from stead.control.outbox.event_types import EventType, SitePayload

SITE_CONFIG_CHANGED = EventType(
    "site.config_changed", "site", "The configuration of a site was changed", data=SitePayload
)
ENVIRONMENT_CONFIG_CHANGED = EventType(
    "environment.config_changed",
    "environment",
    "The configuration of an environment was changed",
    data=SitePayload,
)
