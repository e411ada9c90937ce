"""Plugins and themes of WordPress sites."""

from stead.control.components import operations
from stead.control.feature import Feature

FEATURE = Feature(name="components", operations=[operations.operation], id_prefixes={"component_id": "comp"})
