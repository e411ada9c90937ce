"""The configuration of sites and environments."""

from stead.control.configuration import events, operations, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="configuration",
    operations=[operations.operation],
    workflows=[workflows.CONFIGURE_SITE, workflows.CONFIGURE_ENVIRONMENT],
    events=[events.SITE_CONFIG_CHANGED, events.ENVIRONMENT_CONFIG_CHANGED],
)
