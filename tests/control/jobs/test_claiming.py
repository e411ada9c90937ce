"""Which jobs may begin: caps, exclusion, order and fairness, whoever asks and however many ask at once."""

import asyncio

import pytest

from stead.control.jobs import queue
from tests.control.jobs.queue_harness import QueueHarness, claimed
from tests.patience import time_limit


@pytest.mark.parametrize("team", [False, True], ids=["account", "team"])
@pytest.mark.parametrize("cap", [1, 4])
async def test_no_owner_has_more_jobs_under_way_than_the_plan_allows(
    job_queue: QueueHarness, cap: int, team: bool
):
    owner = await job_queue.owner(cap, team=team)
    jobs = await job_queue.jobs(owner, 10)
    assert await job_queue.claim() == set(jobs[:cap])
    assert await job_queue.claim() == set()
    async with job_queue.database.transaction() as tx:
        await queue.mark_running(tx, jobs[0])
    assert await job_queue.claim() == set()
    await job_queue.end(jobs[0])
    assert await job_queue.claim() == {jobs[cap]}


async def test_a_plan_that_allows_nothing_runs_nothing(job_queue: QueueHarness):
    await job_queue.jobs(await job_queue.owner(0), 3)
    other = await job_queue.jobs(await job_queue.owner(1), 1)
    assert await job_queue.claim() == set(other)


async def test_one_job_at_a_time_runs_on_an_environment(job_queue: QueueHarness):
    owner = await job_queue.owner(10)
    site = await job_queue.site(owner)
    first, second = [await job_queue.job(site, owner, "env_a") for _ in range(2)]
    beside = await job_queue.job(site, owner, "env_b")
    assert await job_queue.claim() == {first, beside}
    await job_queue.end(first, status="failed")
    assert await job_queue.claim() == {second}


async def test_four_commands_run_next_to_each_other_and_next_to_nothing_else(job_queue: QueueHarness):
    owner = await job_queue.owner(20)
    site = await job_queue.site(owner)
    commands = [await job_queue.job(site, owner, "env_a", parallel=4) for _ in range(5)]
    other = await job_queue.job(site, owner, "env_a")
    late = await job_queue.job(site, owner, "env_a", parallel=4)
    assert await job_queue.claim() == set(commands[:4])
    await job_queue.end(commands[1])
    assert await job_queue.claim() == {commands[4]}
    await job_queue.end(commands[0], *commands[2:])
    assert await job_queue.claim() == {other}
    assert await job_queue.claim() == set()
    await job_queue.end(other)
    assert await job_queue.claim() == {late}


async def test_a_job_that_is_just_being_cancelled_is_not_waited_for(job_queue: QueueHarness):
    owner = await job_queue.owner(10)
    cancelled, other = await job_queue.jobs(owner, 2)
    async with job_queue.database.transaction() as tx:
        await queue.lock(tx, cancelled)
        async with time_limit(10):
            assert await job_queue.claim() == {other}
    assert await job_queue.claim() == {cancelled}


async def test_a_job_of_the_whole_site_excludes_all_of_the_sites(job_queue: QueueHarness):
    owner = await job_queue.owner(10)
    site = await job_queue.site(owner)
    one, two = await job_queue.job(site, owner, "env_a"), await job_queue.job(site, owner, "env_b")
    whole = await job_queue.job(site, owner)
    late = await job_queue.job(site, owner, "env_c")
    assert await job_queue.claim() == {one, two}
    await job_queue.end(one)
    assert await job_queue.claim() == set()
    await job_queue.end(two)
    assert await job_queue.claim() == {whole}
    assert await job_queue.claim() == set()
    await job_queue.end(whole)
    assert await job_queue.claim() == {late}


async def test_jobs_on_one_lock_run_in_the_order_in_which_they_came(job_queue: QueueHarness):
    owner = await job_queue.owner(10)
    site = await job_queue.site(owner)
    envs = ["env_a", None, "env_a", "env_b", None, "env_b"]
    jobs = [await job_queue.job(site, owner, env) for env in envs]
    order: list[str] = []
    while len(order) < len(jobs):
        taken = sorted(await job_queue.claim())
        order += taken
        await job_queue.end(*taken)
    assert order == jobs


async def test_jobs_of_different_sites_do_not_wait_for_each_other(job_queue: QueueHarness):
    owner = await job_queue.owner(10)
    jobs = [await job_queue.job(await job_queue.site(owner), owner, "env_of_the_same_name") for _ in range(4)]
    assert await job_queue.claim() == set(jobs)


async def test_a_job_cancelled_in_the_queue_blocks_no_other(job_queue: QueueHarness):
    owner = await job_queue.owner(1)
    site = await job_queue.site(owner)
    first, second = [await job_queue.job(site, owner) for _ in range(2)]
    await job_queue.end(first, status="failed")
    assert await job_queue.claim() == {second}


async def test_who_has_the_fewest_jobs_under_way_comes_first(job_queue: QueueHarness):
    greedy, modest = await job_queue.owner(10), await job_queue.owner(10)
    many = await job_queue.jobs(greedy, 10)
    few = await job_queue.jobs(modest, 2)
    assert await job_queue.claim(2) == {many[0], few[0]}
    assert await job_queue.claim(2) == {many[1], few[1]}
    late = await job_queue.jobs(await job_queue.owner(10), 1)
    assert await job_queue.claim(2) == {many[2], *late}


async def test_a_crowd_of_one_owner_does_not_hold_up_another(job_queue: QueueHarness):
    await job_queue.jobs(await job_queue.owner(1), 60)
    others = [(await job_queue.jobs(await job_queue.owner(1), 1))[0] for _ in range(5)]
    assert set(others) <= await job_queue.claim(6)


async def test_no_more_are_taken_than_were_asked_for(job_queue: QueueHarness):
    await job_queue.jobs(await job_queue.owner(10), 8)
    assert [len(await job_queue.claim(3)) for _ in range(4)] == [3, 3, 2, 0]


async def test_who_comes_while_another_claims_takes_nothing_and_waits_for_nobody(job_queue: QueueHarness):
    jobs = set(await job_queue.jobs(await job_queue.owner(3), 6))
    async with job_queue.database.transaction() as first, time_limit(5):
        mine = await claimed(first)
        assert len(mine) == 3
        assert await job_queue.claim() == set()
    assert await job_queue.claim() == set()
    await job_queue.end(*mine)
    assert await job_queue.claim() == jobs - mine


async def test_a_claim_that_is_rolled_back_took_nothing(job_queue: QueueHarness):
    jobs = set(await job_queue.jobs(await job_queue.owner(2), 2))

    async def claim_and_fail() -> None:
        async with job_queue.database.transaction() as tx:
            assert await claimed(tx) == jobs
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await claim_and_fail()
    assert await job_queue.claim() == jobs


async def test_however_many_claim_at_once_each_job_is_taken_once(job_queue: QueueHarness):
    owners = [await job_queue.owner(2) for _ in range(5)]
    jobs = [job for owner in owners for job in await job_queue.jobs(owner, 8)]
    taken: list[str] = []

    async def work() -> None:
        while len(taken) < len(jobs):
            mine = await job_queue.claim(3)
            taken.extend(mine)
            await job_queue.end(*mine)
            await asyncio.sleep(0)

    async with time_limit(20):
        await asyncio.gather(*(work() for _ in range(8)))
    assert sorted(taken) == sorted(jobs)


async def test_a_cancellation_that_comes_between_does_not_break_a_claim(job_queue: QueueHarness):
    """The claim has chosen the job, and waits for its row, when the cancellation commits."""
    owner = await job_queue.owner(5)
    cancelled, other = await job_queue.jobs(owner, 2)
    async with job_queue.database.transaction() as tx:
        await tx.run(
            "update jobs set status = 'failed', cancel_requested_at = $2 where id = $1", cancelled, tx.now
        )
        claiming = asyncio.create_task(job_queue.claim())
        await asyncio.sleep(0.2)
    assert await claiming == {other}


async def test_what_was_claimed_and_never_started_is_found_again(job_queue: QueueHarness):
    jobs = await job_queue.jobs(await job_queue.owner(3), 3)
    await job_queue.claim()
    async with job_queue.database.transaction() as tx:
        assert await queue.list_unstarted(tx) == []
        long_ago = tx.now - 2 * queue.START_GRACE
        await tx.run("update jobs set dispatched_at = $1 where id <> $2", long_ago, jobs[2])
        await queue.mark_running(tx, jobs[1])
        assert [row.id for row in await queue.list_unstarted(tx)] == [jobs[0]]
        assert sorted(await queue.list_dispatched(tx)) == jobs[:2]
