"""The configuration of sites and environments."""

from stead.control.configuration import events, operations, service, workflows
from stead.control.configuration.rules import SECRET
from stead.control.feature import Feature
from stead.control.sealed_columns import SealedColumn

FEATURE = Feature(
    name="configuration",
    operations=[operations.operation],
    workflows=[workflows.CONFIGURE_SITE, workflows.CONFIGURE_ENVIRONMENT],
    sealed_columns=[
        SealedColumn("configurations", "subject", column, service.secret_context, ("security", SECRET))
        for column in ("settings", "previous")
    ],
    events=[events.SITE_CONFIG_CHANGED, events.ENVIRONMENT_CONFIG_CHANGED],
)
