"""The redirects of a site."""

from stead.control.feature import Feature
from stead.control.redirects import events, operations, workflows

FEATURE = Feature(
    name="redirects",
    operations=[operations.operation],
    workflows=[workflows.REPLACE_REDIRECTS],
    events=[events.SITE_REDIRECTS_CHANGED],
)
