"""API keys."""

from stead.control.feature import Feature
from stead.control.keys import events, operations, service

FEATURE = Feature(
    name="keys",
    operations=[operations.operation],
    resolvers=[service.visible_key],
    id_prefixes={"key_id": "key"},
    events=[events.KEY_CREATED, events.KEY_CHANGED, events.KEY_ROLLED, events.KEY_REVOKED],
)
