"""HTTP operations on notifications and their preferences."""

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.notifications import service
from stead.control.notifications.schema import (
    MarkedView,
    Marking,
    NewPreferences,
    NotificationFilter,
    NotificationView,
    PreferencesView,
    UnreadView,
)

operation = Operations(tag="Notifications")


@operation("GET /v1/notifications", id="notifications.list", scope="notifications:read", page_size=30)
async def list_notifications(
    call: Call, query: NotificationFilter, page: PageRequest
) -> Page[NotificationView]:
    """List your notifications, newest first.

    `bell` selects highlighted notifications: warnings and worse, and every deployment.
    """
    return await service.browse(call.tx, call.caller, query, page)


@operation("GET /v1/notifications/unread-count", id="notifications.unread_count", scope="notifications:read")
async def count_unread(call: Call) -> UnreadView:
    """Count your unread notifications."""
    return UnreadView(await service.count_unread(call.tx, call.caller))


@operation(
    "POST /v1/notifications/read", id="notifications.mark_read", scope="notifications:write", test_keys=True
)
async def mark_read(call: Call, body: Marking) -> MarkedView:
    """Mark the listed notifications, or all, as read.

    A test key marks only those of test sites.
    """
    return MarkedView(await service.mark_read(call.tx, call.caller, body))


@operation("GET /v1/notification-preferences", id="notification_preferences.get", scope="notifications:read")
async def get_preferences(call: Call) -> PreferencesView:
    """Read for which categories you get email."""
    return PreferencesView(await service.preferences(call.tx, call.caller))


@operation(
    "PUT /v1/notification-preferences",
    id="notification_preferences.replace",
    scope="notifications:write",
    account_wide=True,
)
async def replace_preferences(call: Call, body: NewPreferences) -> PreferencesView:
    """Set for which categories you get email. Email is on for categories that you do not list."""
    return PreferencesView(await service.replace_preferences(call.tx, call.caller, body))
