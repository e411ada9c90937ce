"""Two hundred jobs of ten owners on two workers: caps and exclusions hold, everybody gets on, all end."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.jobs import load
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import Program, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

PACE = 0.1
KILL_SECONDS, KILLS = 5.0, 3
"""As often at least: where a worker takes long to come back, the load comes once more."""
UNFAIR = 2.0
BEHIND = 0.25
"""Of its own jobs, when half of all have ended. Whose were with a worker that was killed waits until that is
noticed, so how long they took is chance; that everybody gets on is not."""


async def _check(harness: Harness, done: load.Load) -> list[Any]:
    found = await load.rows(harness, done.jobs)
    assert len(found) == load.OWNERS * (load.SITES + load.RESTARTS) == 200
    assert [row["error"] for row in found if row["status"] != "succeeded"] == []
    assert {row["events"] for row in found} == {2}, "each said once what it did and that it succeeded"
    counted = done.counted
    assert counted.samples > 4 * done.seconds, "it was looked at all the time"
    assert counted.exclusions_broken == 0
    assert counted.most_of_an_owner == load.CAP, "the cap was reached, and never passed"
    for job in done.jobs:
        steps = harness.node.steps(job)
        assert {(entry.state, entry.carried_out) for entry in steps.values()} == {("done", 1)}
    assert load.least_progress(found) >= BEHIND
    return found


def _told(name: str, done: load.Load, found: list[Any]) -> str:
    rate = len(done.jobs) / done.seconds
    return (
        f"{name}: {len(done.jobs)} jobs of {load.OWNERS} owners in {done.seconds:.0f} s ({rate:.1f}/s),"
        f" at most {done.counted.most_of_an_owner} of an owner and {done.counted.most_at_once} at once in"
        f" {done.counted.samples} samples; when half had ended, every owner had at least"
        f" {load.least_progress(found):.0%}; slowest owner / fastest: {load.fairness(found):.2f}"
    )


async def test_caps_and_exclusions_hold_under_load_and_every_owner_gets_on(
    harness: Harness, record_property: Callable[[str, object], None]
) -> None:
    await harness.node.work_at(PACE)
    done = await load.run(harness, bound=180)
    found = await _check(harness, done)
    assert load.fairness(found) < UNFAIR
    record_property("figure", _told("load", done, found))


async def _is_ready(worker: Program, lives: int) -> bool:
    return worker.said("worker.ready") > lives


async def test_they_hold_while_a_worker_is_killed_every_five_seconds(
    harness: Harness, record_property: Callable[[str, object], None]
) -> None:
    await harness.node.work_at(PACE)
    killed = 0

    async def kill() -> None:
        nonlocal killed
        for worker in itertools.cycle(harness.workers):
            await asyncio.sleep(KILL_SECONDS)
            lives = worker.said("worker.ready")
            await worker.kill()
            worker.start()
            killed += 1
            # On a busy machine a start takes longer than that, and nobody would be left to do anything.
            await until(_is_ready, "the killed worker is back", worker, lives)

    loads: list[load.Load] = []
    killing = asyncio.create_task(kill())
    try:
        while killed < KILLS:
            loads.append(await load.run(harness, bound=300))
    finally:
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
    for worker in harness.workers:
        if not worker.runs:
            worker.start()
    for done in loads:
        found = await _check(harness, done)
        record_property(
            "figure", _told(f"load, one of {len(loads)} with {killed} workers killed", done, found)
        )
