"""A queue of its own, on a database of its own: `claim` looks at all jobs there are."""

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
insert into jobs (id, type, site_id, env_id, owner, scope, resource, params, created_at)
values ($1, 'site.restart', $2, $3, $4, 'sites:write', '{}', '{"kind": "site.restart", "with": {}}', $5)
"""


@dataclass
class Yard:
    database: Database
    caps: dict[str, int] = field(default_factory=dict)

    async def clear(self) -> None:
        """Empty every table that a claim looks at."""
        async with self.database.transaction() as tx:
            # Finished jobs never go away, not even from a test, unless the owner of the table says so.
            await tx.run("alter table jobs disable trigger user")
            await tx.run("truncate jobs, job_steps, environments, sites, accounts cascade")
            await tx.run("alter table jobs enable trigger user")
        self.caps.clear()

    async def owner(self, cap: int, *, team: bool = False) -> str:
        """An account, or a team, whose plan lets so many jobs run at once."""
        plan = f"cap-{cap}"
        async with self.database.transaction() as tx:
            await tx.run(
                "insert into plans select $1, $1, 1000, 1000, 1000, $2, 1000, 1000, 1000, 1000, 1000"
                " on conflict do nothing",
                *(plan, cap),
            )
            # A member's own plan says nothing about the team's.
            account = (await teams.insert_account(tx, plan="cap-1" if team and cap > 1 else plan)).id
            owner = await teams.insert_team(tx, account, plan=plan) if team else account
        self.caps[owner] = cap
        return owner

    async def site(self, owner: str) -> str:
        whose = {"team": owner} if owner.startswith("team") else {"account": owner}
        async with self.database.transaction() as tx:
            return await teams.insert_site(tx, **whose)

    async def job(self, site: str, owner: str, env: str | None = None) -> str:
        id_ = new_id("job")
        async with self.database.transaction() as tx:
            await tx.run(_JOB, id_, site, env, owner, tx.now)
        return id_

    async def jobs(self, owner: str, number: int) -> list[str]:
        """Jobs that are in nobody's way: each on a site of its own."""
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
async def yard_of(name: str) -> AsyncIterator[Yard]:
    async with spare_database(name) as url:
        database = Database(url, clock=wall_clock, size=12)
        try:
            async with database.transaction() as tx:
                await tx.run("insert into plans select 'cap-1', 'cap-1', 9, 9, 9, 1, 9, 9, 9, 9, 9")
            yield Yard(database)
        finally:
            await database.close()
