"""The JSON shapes of teams."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.shared.roles import Role

TeamIdText = Annotated[str, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
TeamName = Annotated[str, Meta(min_length=1, max_length=200, examples=["Analytical Engines"])]
RoleText = Annotated[Role, Meta(examples=["site_manager"])]


class NewTeam(Struct, forbid_unknown_fields=True):
    name: TeamName


class TeamChange(Struct, forbid_unknown_fields=True):
    name: TeamName | UnsetType = UNSET


class CreatedTeamView(Struct):
    team_id: TeamIdText


class TeamView(Struct):
    team_id: TeamIdText
    name: TeamName
    plan: Annotated[str, Meta(examples=["pro"])]
    created_at: datetime
    my_role: Annotated[RoleText, Meta(description="The role of the caller in the team.")]
