"""The page cache of an environment."""

from stead.control.cache import events, operations, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="cache",
    operations=[operations.operation],
    workflows=[workflows.PURGE_CACHE],
    events=[events.ENVIRONMENT_CACHE_PURGED],
)
