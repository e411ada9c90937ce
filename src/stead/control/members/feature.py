"""The members of a team."""

from stead.control.feature import Feature
from stead.control.members import operations

FEATURE = Feature(name="members", operations=[operations.operation])
