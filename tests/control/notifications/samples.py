"""Sample notifications for the suites that cover every operation."""

from tests.feature_samples import Samples

SAMPLES = Samples(
    silent_operations={
        "notifications.mark_read": "reading is not an event",
        "notification_preferences.replace": "a preference concerns nobody else",
    }
)
