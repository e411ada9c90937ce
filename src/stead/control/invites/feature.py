"""Invites to a team."""

from stead.control.feature import Feature
from stead.control.invites import events, operations

FEATURE = Feature(
    name="invites",
    operations=[operations.operation],
    id_prefixes={"invite_id": "inv"},
    events=[events.TEAM_INVITE_CREATED, events.TEAM_INVITE_REVOKED],
)
