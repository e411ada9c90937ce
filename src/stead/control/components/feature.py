"""Plugins and themes of WordPress sites."""

from stead.control.components import operations, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="components",
    operations=[operations.operation],
    workflows=[workflows.INSTALL, workflows.CHANGE],
    id_prefixes={"component_id": "comp"},
)
