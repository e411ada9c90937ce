"""Many owners with many jobs at once, and somebody who never stops counting."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.jobs.harness import PLAN, Harness
from tests.faults.jobs.scenarios import Site, deploy, new_site, restart
from tests.patience import time_limit
from tests.teams import NOT_ON_THE_WAY

OWNERS, SITES, RESTARTS = 10, 8, 12
"""Each owner has a deployment for each site, and restarts that queue up on some: 200 jobs in all."""
CAP = 4
SAMPLE_SECONDS = 0.05

_UNDER_WAY = """
  with busy as (
    select id, owner, site_id, env_id, status from jobs
    where status = 'running' or (status = 'queued' and dispatched_at is not null)
  )
  select (select coalesce(max(n), 0) from (select count(*) as n from busy group by owner) as each_owner),
    (select count(*) from busy a join busy b on a.site_id = b.site_id and a.id < b.id
      and (a.env_id is null or b.env_id is null or a.env_id = b.env_id)),
    (select count(*) from busy)
"""


@dataclass
class Counted:
    samples: int = 0
    most_of_an_owner: int = 0
    exclusions_broken: int = 0
    most_at_once: int = 0


@dataclass
class Load:
    owners: list[str]
    sites: dict[str, list[Site]] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    counted: Counted = field(default_factory=Counted)


async def owners(harness: Harness) -> list[str]:
    """Teams, each with a plan that lets four of its jobs run at once."""
    if not await harness.sql("select from plans where name = 'four'"):
        await harness.sql(PLAN.format(name="four", jobs=CAP))
    found = [
        (await harness.ask("POST", "/v1/teams", {"name": f"Owner {n}"}, status=201))["team_id"]
        for n in range(OWNERS)
    ]
    await harness.sql("update teams set plan = 'four' where id = any($1)", found)
    return found


async def run(harness: Harness, *, bound: float) -> Load:
    """Everybody deploys everything at once; whoever has all of it restarts."""
    load = Load(await owners(harness))
    began = time.monotonic()
    counting = asyncio.create_task(_count(harness, load.counted))
    try:
        async with time_limit(bound):
            await asyncio.gather(*(_live(harness, load, owner) for owner in load.owners))
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)
    load.seconds = time.monotonic() - began
    return load


async def _live(harness: Harness, load: Load, owner: str) -> None:
    sites = load.sites[owner] = [await new_site(harness) for _ in range(SITES)]
    load.jobs += await _ended(harness, [await deploy(harness, site, team_id=owner) for site in sites])
    load.jobs += await _ended(harness, [await restart(harness, sites[n % SITES]) for n in range(RESTARTS)])


async def _ended(harness: Harness, jobs: list[str]) -> list[str]:
    await harness.ended(*jobs, bound=600)
    return jobs


async def _count(harness: Harness, counted: Counted) -> None:
    connection = await harness.connect()
    try:
        while True:
            most, broken, busy = await connection.fetchrow(_UNDER_WAY)
            counted.samples += 1
            counted.most_of_an_owner = max(counted.most_of_an_owner, most)
            counted.exclusions_broken += broken
            counted.most_at_once = max(counted.most_at_once, busy)
            await asyncio.sleep(SAMPLE_SECONDS)
    finally:
        connection.terminate()


async def rows(harness: Harness, jobs: Iterable[str]) -> list[Any]:
    return await harness.sql(
        "select owner, status, error, finished_at,"
        " extract(epoch from finished_at - created_at)::float as took,"
        f" (select count(*) from events e where e.job_id = j.id and {NOT_ON_THE_WAY}) as events"
        " from jobs j where id = any($1) order by finished_at",
        list(jobs),
    )


def fairness(found: list[Any]) -> float:
    """How much longer the slowest owner's jobs took than the fastest's, on average."""
    took: dict[str, list[float]] = {}
    for row in found:
        took.setdefault(row["owner"], []).append(row["took"])
    means = [sum(each) / len(each) for each in took.values()]
    return max(means) / min(means)


def least_progress(found: list[Any]) -> float:
    """How much of its own jobs the owner who was furthest behind had done when half of all had ended."""
    everything = Counter(row["owner"] for row in found)
    by_then = Counter(row["owner"] for row in found[: len(found) // 2])
    return min(by_then[owner] / count for owner, count in everything.items())
