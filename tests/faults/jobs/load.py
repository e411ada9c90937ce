"""Many owners with many jobs at once, and samples of how many run at the same time."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.jobs.harness import PLAN, Harness
from tests.faults.jobs.sites import SiteUnderTest, deploy, new_site, restart
from tests.patience import time_limit
from tests.teams import NOT_ON_THE_WAY

OWNERS, SITES, RESTARTS = 10, 8, 12
"""Each owner deploys each site once, and restarts some of them repeatedly: 200 jobs in all."""
CAP = 4
SAMPLE_SECONDS = 0.05

_RUNNING = """
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
class Samples:
    number: int = 0
    most_of_one_owner: int = 0
    broken_exclusions: int = 0
    most_at_once: int = 0


@dataclass
class Load:
    owners: list[str]
    sites: dict[str, list[SiteUnderTest]] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    samples: Samples = field(default_factory=Samples)


async def create_owners(harness: Harness) -> list[str]:
    """Create teams with a plan that lets four of a team's jobs run at once."""
    if not await harness.sql("select from plans where name = 'four'"):
        await harness.sql(PLAN.format(name="four", jobs=CAP))
    harness.speak_as("live")  # a team belongs to no mode, so a test key cannot create it
    found = [
        (await harness.ask("POST", "/v1/teams", {"name": f"Owner {n}"}, status=201))["team_id"]
        for n in range(OWNERS)
    ]
    harness.speak_as("test")
    await harness.sql("update teams set plan = 'four' where id = any($1)", found)
    return found


async def run(harness: Harness, *, bound: float) -> Load:
    """Let all owners deploy all of their sites at once, and then restart them."""
    load = Load(await create_owners(harness))
    began = time.monotonic()
    sampling = asyncio.create_task(_sample(harness, load.samples))
    try:
        async with time_limit(bound):
            await asyncio.gather(*(_run_owner(harness, load, owner) for owner in load.owners))
    finally:
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)
    load.seconds = time.monotonic() - began
    return load


async def _run_owner(harness: Harness, load: Load, owner: str) -> None:
    sites = load.sites[owner] = [await new_site(harness) for _ in range(SITES)]
    load.jobs += await _wait_for(harness, [await deploy(harness, site, team_id=owner) for site in sites])
    load.jobs += await _wait_for(harness, [await restart(harness, sites[n % SITES]) for n in range(RESTARTS)])


async def _wait_for(harness: Harness, jobs: list[str]) -> list[str]:
    await harness.ended(*jobs, bound=600)
    return jobs


async def _sample(harness: Harness, samples: Samples) -> None:
    connection = await harness.connect()
    try:
        while True:
            most, broken, busy = await connection.fetchrow(_RUNNING)
            samples.number += 1
            samples.most_of_one_owner = max(samples.most_of_one_owner, most)
            samples.broken_exclusions += broken
            samples.most_at_once = max(samples.most_at_once, busy)
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
    """How many times as long the jobs of the slowest owner took as those of the fastest, on average."""
    took: dict[str, list[float]] = {}
    for row in found:
        took.setdefault(row["owner"], []).append(row["took"])
    means = [sum(each) / len(each) for each in took.values()]
    return max(means) / min(means)


def least_progress(found: list[Any]) -> float:
    """The share of its jobs that the slowest owner had finished when half of all jobs had ended."""
    everything = Counter(row["owner"] for row in found)
    by_then = Counter(row["owner"] for row in found[: len(found) // 2])
    return min(by_then[owner] / count for owner, count in everything.items())
