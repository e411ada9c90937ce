# Generated from `_async/resources/notification_preferences.py` by `make generate`.
"""Notification preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._sync.client import returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stead_sdk import params


class NotificationPreferences(Resource):
    def get(self) -> types.Preferences:
        """Read for which categories you get email.

        Scopes: `notifications:read`.
        """
        return returned(types.Preferences, self._client._call("GET", "/v1/notification-preferences"))

    def replace(self, *, preferences: Sequence[params.Preference]) -> types.Preferences:
        """Set for which categories you get email. Email is on for categories that you do not list.

        Scopes: `notifications:write`.
        """
        return returned(
            types.Preferences,
            self._client._call("PUT", "/v1/notification-preferences", body={"preferences": preferences}),
        )
