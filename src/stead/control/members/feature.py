"""The members of a team."""

from stead.control.feature import Feature
from stead.control.members import events, operations

FEATURE = Feature(
    name="members",
    operations=[operations.operation],
    events=[events.TEAM_MEMBER_ADDED, events.TEAM_MEMBER_CHANGED, events.TEAM_MEMBER_REMOVED],
)
