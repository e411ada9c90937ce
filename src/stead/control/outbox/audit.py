"""Who did what: one row per mutation, written by the engine in the transaction of what it tells.

A handler may add facts with `note`; it cannot forget the row, and nothing of a request's body ever gets in by
itself.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Principal
from stead.shared.ids import AccountId, bound, new_id

ActorKind = Literal["member", "api_key", "system"]
Outcome = Literal["success", "denied"]

RETENTION = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Actor:
    """`user_id` is the person behind it even when a key acted."""

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
    """What one request leaves behind: where it acted, and the facts worth keeping."""

    actor: Actor | None = None
    team_id: str | None = None
    site_id: str | None = None
    meta: dict[str, str | int | bool | None] = field(default_factory=dict)

    def note(self, **facts: str | int | bool | None) -> None:
        self.meta.update(facts)


async def record(tx: Tx, event: str, outcome: Outcome, entry: AuditEntry) -> None:
    """Nobody known did it: then there is nobody to tell it of."""
    actor = entry.actor
    if actor is None:
        return
    await tx.run(
        "insert into audit_events (id, event, outcome, actor_kind, actor_user_id, actor_email, actor_key_id,"
        " team_id, site_id, meta, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        new_id("aud"),
        event,
        outcome,
        actor.kind,
        actor.user_id,
        actor.email,
        actor.key_id,
        entry.team_id,
        entry.site_id,
        entry.meta,
        tx.now,
    )


async def keep_partitions(tx: Tx) -> None:
    """Rows live in a partition per month of their id. The next months' are made, expired ones dropped."""
    await tx.value("select pg_advisory_xact_lock(hashtext('audit.partitions'))")
    month = tx.now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(3):
        following = (month + timedelta(days=32)).replace(day=1)
        await _make_partition(tx, _partition(month), bound("aud", month), bound("aud", following))
        month = following
    await tx.run("delete from audit_events_rest where id < $1", bound("aud", tx.now - RETENTION))
    oldest = _partition(tx.now - RETENTION)
    expired = await tx.all(
        str,
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_events'::regclass"
        " and inhrelid::regclass::text between 'audit_events_' and $1",
        oldest,
    )
    for partition in sorted(set(expired) - {oldest}):
        await tx.run(f"drop table {partition}")


async def _make_partition(tx: Tx, name: str, first: str, end: str) -> None:
    """Rows that came before their partition stay in the default one, which then must keep their month."""
    if await tx.value("select exists (select from audit_events_rest where id >= $1 and id < $2)", first, end):
        return
    await tx.run(
        f"create table if not exists {name} partition of audit_events"
        f" for values from ('{first}') to ('{end}')"
    )


def _partition(month: datetime) -> str:
    return f"audit_events_{month:%Y_%m}"
