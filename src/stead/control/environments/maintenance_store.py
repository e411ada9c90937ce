"""Queries of the maintenance of environments."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import Environment, EnvironmentStatus
from stead.control.environments.store import COLUMNS

_NO_JOB = """
  and s.status not in ('deleting', 'deleted', 'provisioning') and not exists
    (select from jobs j where j.site_id = s.id and j.status in ('queued', 'running')
     and (j.env_id is null or j.env_id = e.id))
"""
_NOT_BUSY = "and coalesce(s.team_id, s.account_id) <> all($2)"
_DUE = "e.id, e.site_id, coalesce(s.team_id, s.account_id), e.status, e.status_reason"
_UNREACHABLE = "'The node ' || n.id || ' is unreachable.'"


@dataclass(frozen=True, slots=True)
class DueEnvironment:
    """An environment that a job must change now."""

    id: str
    site_id: str
    owner: str
    status: EnvironmentStatus
    status_reason: str | None


async def list_idle(tx: Tx, since: datetime, busy: list[str], limit: int) -> list[DueEnvironment]:
    """Running branch environments that have neither been visited nor resumed since then.

    Without those of the `busy` owners.
    """
    return await tx.all(
        DueEnvironment,
        f"select {_DUE} from environments e join sites s on s.id = e.site_id"  # noqa: S608
        " where e.type = 'branch' and e.status = 'running'"
        " and greatest(e.last_active, e.awake_since, e.created_at) < $1"
        f" {_NO_JOB} {_NOT_BUSY} order by e.id limit $3 for update of e skip locked",
        since,
        busy,
        limit,
    )


async def list_without_branch(tx: Tx, since: datetime, busy: list[str], limit: int) -> list[DueEnvironment]:
    """Environments whose branch was deleted before then, without those of the `busy` owners."""
    return await tx.all(
        DueEnvironment,
        f"select {_DUE} from environments e join sites s on s.id = e.site_id"  # noqa: S608
        " where e.branch_gone_at < $1 and e.status in ('running', 'suspended', 'failed')"
        f" {_NO_JOB} {_NOT_BUSY} order by e.id limit $3 for update of e skip locked",
        since,
        busy,
        limit,
    )


async def list_branches(tx: Tx, site: str) -> list[str]:
    return await tx.all(
        str,
        "select branch from environments where site_id = $1 and branch is not null and status <> 'deleted'",
        site,
    )


async def set_branch_deleted(tx: Tx, site: str, branch: str) -> list[Environment]:
    """Returns the environments for which this is new."""
    return await tx.all(
        Environment,
        "update environments set branch_gone_at = $3 where site_id = $1 and branch = $2"  # noqa: S608
        f" and status <> 'deleted' and branch_gone_at is null returning {COLUMNS}",
        site,
        branch,
        tx.now,
    )


async def set_branch_exists(tx: Tx, site: str, branch: str) -> list[Environment]:
    """Returns the environments whose branch had been recorded as deleted."""
    return await tx.all(
        Environment,
        "update environments set branch_gone_at = null where site_id = $1 and branch = $2"  # noqa: S608
        f" and status <> 'deleted' and branch_gone_at is not null returning {COLUMNS}",
        site,
        branch,
    )


async def list_on_lost_nodes(tx: Tx, since: datetime, limit: int) -> list[tuple[str, str]]:
    """Running environments, without production, on nodes that have sent no heartbeat since then; each with
    the reason to record."""
    return await tx.all(
        lambda *row: row,
        f"select e.id, {_UNREACHABLE} from environments e join nodes n on n.id = e.node_id"  # noqa: S608
        " where e.type <> 'production' and e.status = 'running' and n.last_seen_at <= $1"
        " limit $2 for update of e skip locked",
        since,
        limit,
    )


async def list_on_recovered_nodes(tx: Tx, since: datetime, limit: int) -> list[str]:
    """Environments that failed only because their node was unreachable, and whose node has sent a heartbeat
    since then."""
    return await tx.all(
        str,
        "select e.id from environments e join nodes n on n.id = e.node_id"  # noqa: S608
        f" where e.type <> 'production' and e.status = 'failed' and e.status_reason = {_UNREACHABLE}"
        " and n.last_seen_at > $1 limit $2 for update of e skip locked",
        since,
        limit,
    )


async def record_visits(tx: Tx, node: str, environments: list[str], moments: list[datetime]) -> int:
    """A node may report only on environments that it hosts. A moment in the future counts as now."""
    return await tx.run(
        "update environments e set last_active = least(v.moment, $4)"
        " from unnest($2::text[], $3::timestamptz[]) as v (id, moment)"
        " where e.id = v.id and e.node_id = $1"
        " and (e.last_active is null or e.last_active < least(v.moment, $4))",
        node,
        environments,
        moments,
        tx.now,
    )
