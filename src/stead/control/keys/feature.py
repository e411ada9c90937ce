"""API keys."""

from stead.control.feature import Feature
from stead.control.keys import operations, service

FEATURE = Feature(
    name="keys",
    operations=[operations.operation],
    resolvers=[service.visible_key],
    id_prefixes={"key_id": "key"},
)
