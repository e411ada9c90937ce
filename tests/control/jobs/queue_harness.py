"""The queue of jobs on a separate database: `claim` looks at the jobs of all owners."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from stead.control.engines.postgres import Database, Tx
from stead.control.jobs import queue
from stead.shared.clock import wall_clock
from stead.shared.ids import new_id
from tests import teams
from tests.teams import spare_database

_JOB = """
insert into jobs (id, type, site_id, env_id, owner, scope, resource, params, created_at, parallel)
values ($1, 'site.restart', $2, $3, $4, 'sites:write', '{}', '{"kind": "site.restart", "with": {}}', $5, $6)
"""


@dataclass
class QueueHarness:
    """Inserts owners, sites and jobs, and claims and ends jobs as a dispatcher does."""

    database: Database
    caps: dict[str, int] = field(default_factory=dict)

    async def clear(self) -> None:
        """Empty every table that a claim looks at."""
        async with self.database.transaction() as tx:
            # A trigger forbids deleting finished jobs.
            await tx.run("alter table jobs disable trigger user")
            await tx.run("truncate jobs, job_steps, environments, sites, accounts cascade")
            await tx.run("alter table jobs enable trigger user")
        self.caps.clear()

    async def owner(self, cap: int, *, team: bool = False) -> str:
        """Insert an account or a team whose plan allows this many jobs at once."""
        plan = f"cap-{cap}"
        async with self.database.transaction() as tx:
            await tx.run(
                "insert into plans select $1, $1, 1000, 1000, 1000, $2, 1000, 1000, 1000, 1000, 1000"
                " on conflict do nothing",
                *(plan, cap),
            )
            # The plan of the team counts, not that of its owner.
            account = (await teams.insert_account(tx, plan="cap-1" if team and cap > 1 else plan)).id
            owner = await teams.insert_team(tx, account, plan=plan) if team else account
        self.caps[owner] = cap
        return owner

    async def site(self, owner: str) -> str:
        owned_by: teams.OwnedBy = {"team": owner} if owner.startswith("team") else {"account": owner}
        async with self.database.transaction() as tx:
            return await teams.insert_site(tx, **owned_by)

    async def job(self, site: str, owner: str, env: str | None = None, *, parallel: int = 1) -> str:
        id_ = new_id("job")
        async with self.database.transaction() as tx:
            await tx.run(_JOB, id_, site, env, owner, tx.now, parallel)
        return id_

    async def jobs(self, owner: str, number: int) -> list[str]:
        """Insert jobs that do not wait for each other: each on its own site."""
        return [await self.job(await self.site(owner), owner) for _ in range(number)]

    async def claim(self, most: int = 50) -> set[str]:
        async with self.database.transaction() as tx:
            return await claimed(tx, most)

    async def end(self, *jobs: str, status: str = "succeeded") -> None:
        async with self.database.transaction() as tx:
            for job in jobs:
                await tx.run("update jobs set status = $2 where id = $1", job, status)


async def claimed(tx: Tx, most: int = 50) -> set[str]:
    rows = await queue.claim(tx, most)
    ids = {row.id for row in rows}
    assert len(ids) == len(rows)
    return ids


@asynccontextmanager
async def open_queue(name: str) -> AsyncIterator[QueueHarness]:
    async with spare_database(name) as url:
        database = Database(url, clock=wall_clock, size=12)
        try:
            async with database.transaction() as tx:
                await tx.run("insert into plans select 'cap-1', 'cap-1', 9, 9, 9, 1, 9, 9, 9, 9, 9")
            yield QueueHarness(database)
        finally:
            await database.close()
