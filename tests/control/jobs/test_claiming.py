"""Which jobs may begin: caps, exclusion, order and fairness, whoever asks and however many ask at once."""

import asyncio

import pytest

from stead.control.jobs import queue
from tests.control.jobs.yard import Yard, claimed


@pytest.mark.parametrize("team", [False, True], ids=["account", "team"])
@pytest.mark.parametrize("cap", [1, 4])
async def test_no_owner_has_more_jobs_under_way_than_the_plan_allows(yard: Yard, cap: int, team: bool):
    owner = await yard.owner(cap, team=team)
    jobs = await yard.jobs(owner, 10)
    assert await yard.claim() == set(jobs[:cap])
    assert await yard.claim() == set()
    async with yard.database.transaction() as tx:
        await queue.mark_running(tx, jobs[0])
    assert await yard.claim() == set()
    await yard.end(jobs[0])
    assert await yard.claim() == {jobs[cap]}


async def test_a_plan_that_allows_nothing_runs_nothing(yard: Yard):
    await yard.jobs(await yard.owner(0), 3)
    other = await yard.jobs(await yard.owner(1), 1)
    assert await yard.claim() == set(other)


async def test_one_job_at_a_time_runs_on_an_environment(yard: Yard):
    owner = await yard.owner(10)
    site = await yard.site(owner)
    first, second = [await yard.job(site, owner, "env_a") for _ in range(2)]
    beside = await yard.job(site, owner, "env_b")
    assert await yard.claim() == {first, beside}
    await yard.end(first, status="failed")
    assert await yard.claim() == {second}


async def test_a_job_of_the_whole_site_excludes_all_of_the_sites(yard: Yard):
    owner = await yard.owner(10)
    site = await yard.site(owner)
    one, two = await yard.job(site, owner, "env_a"), await yard.job(site, owner, "env_b")
    whole = await yard.job(site, owner)
    late = await yard.job(site, owner, "env_c")
    assert await yard.claim() == {one, two}
    await yard.end(one)
    assert await yard.claim() == set()
    await yard.end(two)
    assert await yard.claim() == {whole}
    assert await yard.claim() == set()
    await yard.end(whole)
    assert await yard.claim() == {late}


async def test_jobs_on_one_lock_run_in_the_order_in_which_they_came(yard: Yard):
    owner = await yard.owner(10)
    site = await yard.site(owner)
    envs = ["env_a", None, "env_a", "env_b", None, "env_b"]
    jobs = [await yard.job(site, owner, env) for env in envs]
    order = []
    while len(order) < len(jobs):
        taken = sorted(await yard.claim())
        order += taken
        await yard.end(*taken)
    assert order == jobs


async def test_sites_are_in_nobodys_way(yard: Yard):
    owner = await yard.owner(10)
    jobs = [await yard.job(await yard.site(owner), owner, "env_of_the_same_name") for _ in range(4)]
    assert await yard.claim() == set(jobs)


async def test_a_job_that_was_cancelled_while_it_waited_is_in_nobodys_way(yard: Yard):
    owner = await yard.owner(1)
    site = await yard.site(owner)
    first, second = [await yard.job(site, owner) for _ in range(2)]
    await yard.end(first, status="failed")
    assert await yard.claim() == {second}


async def test_who_has_the_fewest_jobs_under_way_comes_first(yard: Yard):
    greedy, modest = await yard.owner(10), await yard.owner(10)
    many = await yard.jobs(greedy, 10)
    few = await yard.jobs(modest, 2)
    assert await yard.claim(2) == {many[0], few[0]}
    assert await yard.claim(2) == {many[1], few[1]}
    late = await yard.jobs(await yard.owner(10), 1)
    assert await yard.claim(2) == {many[2], *late}


async def test_a_crowd_of_one_owner_does_not_hold_up_another(yard: Yard):
    await yard.jobs(await yard.owner(1), 60)
    others = [(await yard.jobs(await yard.owner(1), 1))[0] for _ in range(5)]
    assert set(others) <= await yard.claim(6)


async def test_no_more_are_taken_than_were_asked_for(yard: Yard):
    await yard.jobs(await yard.owner(10), 8)
    assert [len(await yard.claim(3)) for _ in range(4)] == [3, 3, 2, 0]


async def test_who_comes_while_another_claims_takes_nothing_and_waits_for_nobody(yard: Yard):
    jobs = set(await yard.jobs(await yard.owner(3), 6))
    async with yard.database.transaction() as first, asyncio.timeout(5):
        mine = await claimed(first)
        assert len(mine) == 3
        assert await yard.claim() == set()
    assert await yard.claim() == set()
    await yard.end(*mine)
    assert await yard.claim() == jobs - mine


async def test_a_claim_that_is_rolled_back_took_nothing(yard: Yard):
    jobs = set(await yard.jobs(await yard.owner(2), 2))

    async def claim_and_fail() -> None:
        async with yard.database.transaction() as tx:
            assert await claimed(tx) == jobs
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await claim_and_fail()
    assert await yard.claim() == jobs


async def test_however_many_claim_at_once_each_job_is_taken_once(yard: Yard):
    owners = [await yard.owner(2) for _ in range(5)]
    jobs = [job for owner in owners for job in await yard.jobs(owner, 8)]
    taken: list[str] = []

    async def work() -> None:
        while len(taken) < len(jobs):
            mine = await yard.claim(3)
            taken.extend(mine)
            await yard.end(*mine)
            await asyncio.sleep(0)

    async with asyncio.timeout(20):
        await asyncio.gather(*(work() for _ in range(8)))
    assert sorted(taken) == sorted(jobs)


async def test_a_cancellation_that_comes_between_does_not_break_a_claim(yard: Yard):
    """The claim has chosen the job, and waits for its row, when the cancellation commits."""
    owner = await yard.owner(5)
    cancelled, other = await yard.jobs(owner, 2)
    async with yard.database.transaction() as tx:
        await tx.run(
            "update jobs set status = 'failed', cancel_requested_at = $2 where id = $1", cancelled, tx.now
        )
        claiming = asyncio.create_task(yard.claim())
        await asyncio.sleep(0.2)
    assert await claiming == {other}


async def test_what_was_claimed_and_never_started_is_found_again(yard: Yard):
    jobs = await yard.jobs(await yard.owner(3), 3)
    await yard.claim()
    async with yard.database.transaction() as tx:
        assert await queue.list_unstarted(tx) == []
        long_ago = tx.now - 2 * queue.START_GRACE
        await tx.run("update jobs set dispatched_at = $1 where id <> $2", long_ago, jobs[2])
        await queue.mark_running(tx, jobs[1])
        assert [row.id for row in await queue.list_unstarted(tx)] == [jobs[0]]
        assert sorted(await queue.list_dispatched(tx)) == jobs[:2]
