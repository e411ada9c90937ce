"""Posts, pages and media of WordPress sites."""

from stead.control.content import operations
from stead.control.feature import Feature

FEATURE = Feature(name="content", operations=[operations.operation], id_prefixes={"content_id": ""})
