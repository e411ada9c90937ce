"""Teams."""

from stead.control.feature import Feature
from stead.control.teams import operations, service

FEATURE = Feature(
    name="teams",
    operations=[operations.operation],
    resolvers=[service.visible_team],
    id_prefixes={"team_id": "team"},
)
