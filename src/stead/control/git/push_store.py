"""Rows of pushes and of the deliveries that told of them."""

from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.git.push_rules import KEPT, Wanted

_WANTED = (
    "select p.env_id, p.site_id, p.branch, p.commit, p.serial, p.taken, p.job_id, p.settled,"
    " j.status, j.error->>'code' from pushes p left join jobs j on j.id = p.job_id"
)


async def first_time(tx: Tx, site: str, digest: bytes) -> bool:
    """Whether this delivery was never heard. Of two at once, the second waits for the first."""
    inserted = await tx.run(
        "insert into hook_deliveries (site_id, digest, answer, heard_at) values ($1, $2, '{}', $3)"
        " on conflict do nothing",
        site,
        digest,
        tx.now,
    )
    return inserted == 1


async def keep_answer(tx: Tx, site: str, digest: bytes, answer: Any) -> None:
    await tx.run(
        "update hook_deliveries set answer = $3 where site_id = $1 and digest = $2", site, digest, answer
    )


async def answer(tx: Tx, site: str, digest: bytes) -> Any:
    return await tx.value(
        "select answer from hook_deliveries where site_id = $1 and digest = $2", site, digest
    )


async def forget_deliveries(tx: Tx) -> int:
    return await tx.run(
        "delete from hook_deliveries where (site_id, digest) in"
        " (select site_id, digest from hook_deliveries where heard_at < $1 limit 1000)",
        tx.now - KEPT,
    )


async def want(tx: Tx, env: str, site: str, branch: str, commit: str) -> None:
    """The newest push of an environment; whatever was pushed before it and not taken up is not wanted."""
    await tx.run(
        "insert into pushes as p (env_id, site_id, branch, commit, pushed_at, try_at)"
        " values ($1, $2, $3, $4, $5, $5) on conflict (env_id) do update"
        " set branch = $3, commit = $4, serial = p.serial + 1, pushed_at = $5, try_at = $5",
        env,
        site,
        branch,
        commit or None,
        tx.now,
    )


async def wanted(tx: Tx, env: str) -> Wanted | None:
    """As it is now; it stays so until the transaction has ended."""
    await tx.value("select env_id from pushes where env_id = $1 for update", env)
    return await tx.one(Wanted, f"{_WANTED} where p.env_id = $1", env)


async def to_follow(tx: Tx) -> Wanted | None:
    """One whose build has ended, or that has none, which nobody else is looking at."""
    env = await tx.value(
        "select p.env_id from pushes p left join jobs j on j.id = p.job_id"
        " where (p.taken < p.serial or not p.settled) and p.try_at <= $1"
        " and coalesce(j.status, 'failed') not in ('queued', 'running')"
        " order by p.try_at limit 1 for update of p skip locked",
        tx.now,
    )
    return None if env is None else await wanted(tx, env)


async def settle(tx: Tx, env: str) -> None:
    await tx.run("update pushes set settled = true where env_id = $1", env)


async def take(tx: Tx, push: Wanted, job: str | None) -> None:
    """Its build is this one; none when nothing can be built of it."""
    await tx.run(
        "update pushes set taken = $2, job_id = coalesce($3, job_id), settled = $3 is null where env_id = $1",
        push.env_id,
        push.serial,
        job,
    )


async def put_off(tx: Tx, env: str, seconds: float) -> None:
    await tx.run(
        "update pushes set try_at = $2::timestamptz + make_interval(secs => $3) where env_id = $1",
        env,
        tx.now,
        seconds,
    )


async def forget(tx: Tx, env: str) -> None:
    await tx.run("delete from pushes where env_id = $1", env)


async def is_wanted(tx: Tx, env: str, branch: str, commit: str) -> bool:
    """Whether the newest push is this one already."""
    return bool(
        await tx.value(
            "select true from pushes where env_id = $1 and branch = $2 and commit = $3", env, branch, commit
        )
    )


async def arrived(tx: Tx) -> list[str]:
    return await tx.all(
        str,
        "select s.id from sites s join environments e on e.site_id = s.id and e.type = 'production'"
        " join deployments d on d.env_id = e.id and d.status = 'live'"
        " where s.status = 'awaiting_push' order by s.id limit 50 for update of s skip locked",
    )
