"""Event types of teams."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import EventType, Payload


class TeamPayload(Payload):
    name: Annotated[str, Meta(examples=["Analytical Engines"])]


TEAM_CREATED = EventType("team.created", "team", "A team was created", data=TeamPayload)
TEAM_RENAMED = EventType("team.renamed", "team", "A team was renamed", data=TeamPayload)
TEAM_DELETED = EventType("team.deleted", "team", "A team was deleted", "warning", data=TeamPayload)
