"""Posts, pages and media of WordPress sites."""

from stead.control.content import operations, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="content",
    operations=[operations.operation],
    workflows=[workflows.BATCH],
    id_prefixes={"content_id": ""},
)
