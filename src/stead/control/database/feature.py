"""The databases of WordPress sites."""

from stead.control.database import operations
from stead.control.feature import Feature

FEATURE = Feature(name="database", operations=[operations.operation])
