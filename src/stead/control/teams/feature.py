"""Teams."""

from stead.control.feature import Feature
from stead.control.teams import events, operations, service

FEATURE = Feature(
    name="teams",
    operations=[operations.operation],
    resolvers=[service.visible_team],
    id_prefixes={"team_id": "team"},
    events=[events.TEAM_CREATED, events.TEAM_RENAMED, events.TEAM_DELETED],
)
