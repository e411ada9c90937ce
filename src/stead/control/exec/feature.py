"""Commands in the environments of WordPress sites."""

from stead.control.exec import operations, workflows
from stead.control.feature import Feature

FEATURE = Feature(name="exec", operations=[operations.operation], workflows=[workflows.RUN_COMMAND])
