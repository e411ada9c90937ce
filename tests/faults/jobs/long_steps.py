"""Holds steps in which a worker works for long: by stopping what they need."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psutil

from stead.dev.engines.seaweedfs import SeaweedFS
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import IsInStep


@asynccontextmanager
async def object_store_stopped(harness: Harness) -> AsyncIterator[IsInStep]:
    """The object store does not answer. A job is in its long step when the step before it is done."""
    process = harness.stack.child(SeaweedFS).status.process
    assert process is not None
    main = psutil.Process(process.pid)
    stopped = [main, *main.children(recursive=True)]

    async def is_in_step(job: str) -> Any:
        return await harness.sql(
            "select from job_steps where job_id = $1 and step in ('begin', 'content')", job
        )

    for each in stopped:
        each.suspend()
    try:
        yield is_in_step
    finally:
        for each in stopped:
            with suppress(psutil.NoSuchProcess):
                each.resume()


@asynccontextmanager
async def signing_keys_locked(harness: Harness) -> AsyncIterator[IsInStep]:
    """No worker gets a key to sign with. A job is in its long step when it waits for the lock."""
    connection = await harness.connect()
    await connection.fetch("select pg_advisory_lock(hashtext('artifacts.signing_keys'))")

    async def is_in_step(_: str) -> Any:
        return await harness.sql(
            "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
            connection.get_server_pid(),
        )

    try:
        yield is_in_step
    finally:
        # PostgreSQL may have crashed meanwhile.
        connection.terminate()
