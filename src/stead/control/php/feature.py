"""The version of PHP that a WordPress site runs on."""

from stead.control.feature import Feature
from stead.control.php import events, operations, workflows

FEATURE = Feature(
    name="php",
    operations=[operations.operation],
    workflows=[workflows.SWITCH],
    events=[events.PHP_SWITCHED, events.PHP_SWITCH_FAILED],
)
