"""The audit trail: one row per mutation, written by the request path in the transaction of the mutation.

A handler can add facts with `note`. It cannot omit the row, and the request body is never recorded
implicitly. The row of a change that another program makes, such as a site, is written before that is asked.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Principal
from stead.shared.ids import AccountId, derive_id, lower_bound, new_id

ActorKind = Literal["member", "api_key", "system"]
Outcome = Literal["success", "denied"]

RETENTION = timedelta(days=400)
_INSERT = (
    "insert into audit_events (id, event, outcome, actor_kind, actor_user_id, actor_email, actor_key_id,"
    " team_id, site_id, meta, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acted. `user_id` is the person, also when the request used an API key."""

    kind: ActorKind
    user_id: AccountId | None = None
    email: str | None = None
    key_id: str | None = None

    @classmethod
    def of(cls, principal: Principal) -> "Actor":
        if principal.kind == "api_key":
            return cls("api_key", principal.account_id, principal.email, principal.id)
        return cls("member", principal.account_id, principal.email)


@dataclass(slots=True)
class AuditEntry:
    """The audit record of one request: the actor, the resources, and additional facts."""

    actor: Actor | None = None
    team_id: str | None = None
    site_id: str | None = None
    meta: dict[str, str | int | bool | None] = field(default_factory=dict)

    def note(self, **facts: str | int | bool | None) -> None:
        self.meta.update(facts)


async def record(tx: Tx, event: str, outcome: Outcome, entry: AuditEntry) -> None:
    """Write the row. Requests without an authenticated actor are not recorded."""
    if entry.actor is not None:
        await tx.run(_INSERT, *_row(new_id("aud"), event, outcome, entry, entry.actor, tx.now))


async def begin(tx: Tx, event: str, entry: AuditEntry) -> str | None:
    """Write the row of a change that another program is asked to make, before it is asked. If nothing is
    ever heard of it, the row stays like this. Returns its id."""
    if entry.actor is None:
        return None
    id_, asked = new_id("aud"), replace(entry, meta=entry.meta | {"answered": False})
    await tx.run(_INSERT, *_row(id_, event, "success", asked, entry.actor, tx.now))
    return id_


async def finish(tx: Tx, id_: str, outcome: Outcome, entry: AuditEntry) -> None:
    """The other program has made the change, or it was not allowed."""
    await tx.run("update audit_events set outcome = $2, meta = $3 where id = $1", *(id_, outcome, entry.meta))


async def withdraw(tx: Tx, id_: str) -> None:
    """The other program has not made the change."""
    await tx.run("delete from audit_events where id = $1", id_)


async def record_once(tx: Tx, event: str, entry: AuditEntry, moment: datetime, name: str) -> bool:
    """Write the row of something that happened at this moment, unless it was written before: whether it was
    new. Of two that are the same, moment and name are the same."""
    if entry.actor is None:
        return False
    id_ = derive_id("aud", moment, f"{event} {name}")
    row = _row(id_, event, "success", entry, entry.actor, moment)
    return await tx.run(f"{_INSERT} on conflict do nothing", *row) == 1


def _row(
    id_: str, event: str, outcome: Outcome, entry: AuditEntry, actor: Actor, moment: datetime
) -> tuple[object, ...]:
    return (
        id_,
        event,
        outcome,
        actor.kind,
        actor.user_id,
        actor.email,
        actor.key_id,
        entry.team_id,
        entry.site_id,
        entry.meta,
        moment,
    )


async def maintain_partitions(tx: Tx) -> None:
    """Create the partitions of this month and the next two, and drop expired ones.

    A row belongs to the partition of the month in its id.
    """
    await tx.value("select pg_advisory_xact_lock(hashtext('audit.partitions'))")
    month = tx.now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(3):
        next_month = (month + timedelta(days=32)).replace(day=1)
        await _create_partition(
            tx, _partition_name(month), lower_bound("aud", month), lower_bound("aud", next_month)
        )
        month = next_month
    await tx.run("delete from audit_events_rest where id < $1", lower_bound("aud", tx.now - RETENTION))
    oldest = _partition_name(tx.now - RETENTION)
    expired = await tx.all(
        str,
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_events'::regclass"
        " and inhrelid::regclass::text between 'audit_events_' and $1",
        oldest,
    )
    for partition in sorted(set(expired) - {oldest}):
        await tx.run(f"drop table {partition}")


async def _create_partition(tx: Tx, name: str, first: str, end: str) -> None:
    """If the default partition already holds rows of the month, the month stays there: PostgreSQL refuses a
    partition whose rows are in the default one."""
    if await tx.value("select exists (select from audit_events_rest where id >= $1 and id < $2)", first, end):
        return
    await tx.run(
        f"create table if not exists {name} partition of audit_events"
        f" for values from ('{first}') to ('{end}')"
    )


def _partition_name(month: datetime) -> str:
    return f"audit_events_{month:%Y_%m}"
