"""The JSON shapes of projects."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

ProjectName = Annotated[str, Meta(min_length=1, max_length=200, examples=["Shop relaunch"])]


class NewProject(Struct, forbid_unknown_fields=True):
    name: ProjectName


class ProjectChange(Struct, forbid_unknown_fields=True):
    name: ProjectName | UnsetType = UNSET


class Assignment(Struct, forbid_unknown_fields=True):
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class ProjectView(Struct):
    id: Annotated[str, Meta(examples=["proj_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    name: ProjectName
    team_id: Annotated[str | None, Meta(description="`null` for a project of an account.", examples=[None])]
    created_at: datetime
