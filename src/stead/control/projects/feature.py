"""Projects of a person or a team."""

from stead.control.feature import Feature
from stead.control.projects import operations, service, team_operations

FEATURE = Feature(
    name="projects",
    operations=[operations.operation, team_operations.operation],
    resolvers=[service.visible_project, service.visible_team_project],
    id_prefixes={"project_id": "proj"},
)
