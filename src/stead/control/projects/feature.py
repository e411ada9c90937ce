"""Projects of an account or a team."""

from stead.control.feature import Feature
from stead.control.projects import operations, service

FEATURE = Feature(
    name="projects",
    operations=[operations.operation, operations.team_operation],
    resolvers=[service.visible_project, service.visible_team_project],
    id_prefixes={"project_id": "proj"},
)
