"""Rows of pending pushes and of received deliveries."""

from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.git.rules import DELIVERY_RETENTION, PendingPush

_SELECT_PUSH = (
    "select p.env_id, p.site_id, p.branch, p.commit, p.serial, p.taken, p.job_id, p.settled,"
    " j.status, j.error->>'code' from pushes p left join jobs j on j.id = p.job_id"
)


async def insert_delivery(tx: Tx, site: str, digest: bytes) -> bool:
    """Returns False for a repeated delivery. Of two at the same time, the second waits for the first."""
    inserted = await tx.run(
        "insert into hook_deliveries (site_id, digest, answer, heard_at) values ($1, $2, '{}', $3)"
        " on conflict do nothing",
        site,
        digest,
        tx.now,
    )
    return inserted == 1


async def save_answer(tx: Tx, site: str, digest: bytes, answer: Any) -> None:
    await tx.run(
        "update hook_deliveries set answer = $3 where site_id = $1 and digest = $2", site, digest, answer
    )


async def get_answer(tx: Tx, site: str, digest: bytes) -> Any:
    return await tx.value(
        "select answer from hook_deliveries where site_id = $1 and digest = $2", site, digest
    )


async def delete_old_deliveries(tx: Tx) -> int:
    return await tx.run(
        "delete from hook_deliveries where (site_id, digest) in"
        " (select site_id, digest from hook_deliveries where heard_at < $1 limit 1000)",
        tx.now - DELIVERY_RETENTION,
    )


async def save_push(tx: Tx, env: str, site: str, branch: str, commit: str | None) -> None:
    """Save the newest push to an environment. It replaces an older push that is not built yet."""
    await tx.run(
        "insert into pushes as p (env_id, site_id, branch, commit, pushed_at, try_at)"
        " values ($1, $2, $3, $4, $5, $5) on conflict (env_id) do update"
        " set branch = $3, commit = $4, serial = p.serial + 1, pushed_at = $5, try_at = $5",
        env,
        site,
        branch,
        commit,
        tx.now,
    )


async def lock_push(tx: Tx, env: str) -> PendingPush | None:
    """Read the newest push to an environment and lock it until the end of the transaction."""
    await tx.value("select env_id from pushes where env_id = $1 for update", env)
    return await tx.one(PendingPush, f"{_SELECT_PUSH} where p.env_id = $1", env)


async def lock_next_push(tx: Tx) -> PendingPush | None:
    """Lock a push that needs action and has no running build; skip those that another worker has locked."""
    env = await tx.value(
        "select p.env_id from pushes p left join jobs j on j.id = p.job_id"
        " where (p.taken < p.serial or not p.settled) and p.try_at <= $1"
        " and coalesce(j.status, 'failed') not in ('queued', 'running')"
        " order by p.try_at limit 1 for update of p skip locked",
        tx.now,
    )
    return None if env is None else await lock_push(tx, env)


async def mark_result_handled(tx: Tx, env: str) -> None:
    await tx.run("update pushes set settled = true where env_id = $1", env)


async def assign_build(tx: Tx, push: PendingPush, job: str | None) -> None:
    """Record which job builds the push; None if it cannot be built."""
    await tx.run(
        "update pushes set taken = $2, job_id = coalesce($3, job_id), settled = $3 is null where env_id = $1",
        push.env_id,
        push.serial,
        job,
    )


async def postpone(tx: Tx, env: str, seconds: float) -> None:
    await tx.run(
        "update pushes set try_at = $2::timestamptz + make_interval(secs => $3) where env_id = $1",
        env,
        tx.now,
        seconds,
    )


async def delete_push(tx: Tx, env: str) -> None:
    await tx.run("delete from pushes where env_id = $1", env)


async def is_newest_push(tx: Tx, env: str, branch: str, commit: str) -> bool:
    """Whether the newest push to the environment is this one."""
    return bool(
        await tx.value(
            "select true from pushes where env_id = $1 and branch = $2 and commit = $3", env, branch, commit
        )
    )


async def lock_sites_with_first_deployment(tx: Tx) -> list[str]:
    """Sites that still have the status `awaiting_push` although a deployment is live."""
    return await tx.all(
        str,
        "select s.id from sites s join environments e on e.site_id = s.id and e.type = 'production'"
        " join deployments d on d.env_id = e.id and d.status = 'live'"
        " where s.status = 'awaiting_push' order by s.id limit 50 for update of s skip locked",
    )
