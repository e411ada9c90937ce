"""Two hundred jobs of ten owners on two workers: caps and exclusions hold, every owner makes progress."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.jobs import load
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import Program, until
from tests.patience import slowdown

pytestmark = pytest.mark.faults

STEP_SECONDS = 0.1
KILL_SECONDS, KILLS = 5.0, 3
"""Workers are killed at least this often: the load is repeated until they were."""
UNFAIR = 2.0
LEAST_PROGRESS = 0.25
"""The share of its own jobs that every owner has finished when half of all jobs have ended. How long the jobs
of a killed worker take depends on chance, as its death is noticed late; every owner makes progress anyway."""


async def _check(harness: Harness, done: load.Load) -> list[Any]:
    rows = await load.rows(harness, done.jobs)
    assert len(rows) == load.OWNERS * (load.SITES + load.RESTARTS) == 200
    assert [row["error"] for row in rows if row["status"] != "succeeded"] == []
    assert {row["events"] for row in rows} == {2}, "each job published its own event and job.succeeded once"
    samples = done.samples
    assert samples.number > 4 * done.seconds / slowdown(), "samples were taken all the time"
    assert samples.broken_exclusions == 0
    assert samples.most_of_one_owner == load.CAP, "the cap was reached, and never exceeded"
    for job in done.jobs:
        steps = harness.node.steps(job)
        assert {(entry.state, entry.carried_out) for entry in steps.values()} == {("done", 1)}
    assert load.least_progress(rows) >= LEAST_PROGRESS
    return rows


def _describe(name: str, done: load.Load, rows: list[Any]) -> str:
    rate = len(done.jobs) / done.seconds
    return (
        f"{name}: {len(done.jobs)} jobs of {load.OWNERS} owners in {done.seconds:.0f} s ({rate:.1f}/s),"
        f" at most {done.samples.most_of_one_owner} of one owner and {done.samples.most_at_once} at once in"
        f" {done.samples.number} samples; when half had ended, every owner had at least"
        f" {load.least_progress(rows):.0%}; slowest owner / fastest: {load.fairness(rows):.2f}"
    )


async def test_caps_and_exclusions_hold_under_load_and_every_owner_makes_progress(
    harness: Harness, record_property: Callable[[str, object], None]
) -> None:
    await harness.node.set_step_seconds(STEP_SECONDS)
    done = await load.run(harness, bound=180)
    rows = await _check(harness, done)
    assert load.fairness(rows) < UNFAIR
    record_property("figure", _describe("load", done, rows))


async def _is_ready(worker: Program, starts: int) -> bool:
    return worker.count_log_events("worker.ready") > starts


async def test_they_hold_while_a_worker_is_killed_every_five_seconds(
    harness: Harness, record_property: Callable[[str, object], None]
) -> None:
    await harness.node.set_step_seconds(STEP_SECONDS)
    killed = 0

    async def kill() -> None:
        nonlocal killed
        for worker in itertools.cycle(harness.workers):
            await asyncio.sleep(KILL_SECONDS)
            starts = worker.count_log_events("worker.ready")
            await worker.kill()
            worker.start()
            killed += 1
            # On a busy machine a start takes longer than that, and no worker would be left.
            await until(_is_ready, "the killed worker is back", worker, starts)

    loads: list[load.Load] = []
    killing = asyncio.create_task(kill())
    try:
        while killed < KILLS:
            loads.append(await load.run(harness, bound=300))
    finally:
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
    for worker in harness.workers:
        if not worker.is_running:
            worker.start()
    for done in loads:
        rows = await _check(harness, done)
        record_property(
            "figure", _describe(f"load, one of {len(loads)} with {killed} workers killed", done, rows)
        )
