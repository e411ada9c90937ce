"""The configuration of sites and environments."""

from stead.control.configuration import operations, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="configuration",
    operations=[operations.operation],
    workflows=[workflows.CONFIGURE_SITE, workflows.CONFIGURE_ENVIRONMENT],
)
