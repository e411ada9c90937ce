"""The event outbox. An event is inserted in the transaction of the change it describes.

After that transaction has committed, the sequencer (`control/events`) gives the event its position in the
feed and passes it to webhooks and notifications.
"""

import msgspec
from msgspec import Struct

from stead.control.engines.postgres import Tx
from stead.control.outbox.event_types import EventType
from stead.shared.ids import new_id

Fact = str | int | bool | None


class About(Struct, frozen=True, kw_only=True):
    """The owner of an event (an account or a team), and the resources it concerns."""

    account_id: str | None = None
    team_id: str | None = None
    site_id: str | None = None
    env_id: str | None = None
    job_id: str | None = None


async def publish(tx: Tx, event: EventType, about: About, **data: Fact) -> str:
    """Write an event to the outbox and return its id. `data` must match the payload of its type."""
    id_ = new_id("evt")
    payload = msgspec.to_builtins(msgspec.convert(data, event.data)) if event.data else data
    await tx.run(
        "insert into events (id, type, account_id, team_id, site_id, env_id, job_id, data, created_at, mode)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, (select mode from sites where id = $5))",
        id_,
        event.type,
        about.account_id,
        about.team_id,
        about.site_id,
        about.env_id,
        about.job_id,
        payload,
        tx.now,
    )
    return id_
