"""The configuration of sites and environments."""

from stead.control.configuration import events, operations, preview_keys, service, workflows
from stead.control.configuration.rules import SECRET, SIGN_IN_KEY
from stead.control.feature import Feature
from stead.control.sealed_columns import SealedColumn

FEATURE = Feature(
    name="configuration",
    operations=[operations.operation],
    workflows=[workflows.CONFIGURE_SITE, workflows.CONFIGURE_ENVIRONMENT],
    sealed_columns=[
        SealedColumn("configurations", "subject", column, context, ("security", name))
        for column in ("settings", "previous")
        for name, context in ((SECRET, service.secret_context), (SIGN_IN_KEY, preview_keys.key_context))
    ],
    events=[events.SITE_CONFIG_CHANGED, events.ENVIRONMENT_CONFIG_CHANGED],
)
