"""Jobs of somebody's, as rows."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from stead.control.app import ControlPlane
from tests import teams
from tests.control.jobs.queue_harness import QueueHarness, open_queue

NewJob = Callable[..., Awaitable[str]]


@pytest.fixture
def new_job(plane: ControlPlane) -> NewJob:
    """A job on this site, or on a new site of this owner; any column may be given."""

    async def make(
        *, site: str | None = None, account: str | None = None, team: str | None = None, **set_: Any
    ) -> str:
        async with plane.database.transaction() as tx:
            place = site or await teams.insert_site(tx, account=account, team=team)
            owner = await tx.value("select coalesce(team_id, account_id) from sites where id = $1", place)
            job = await teams.insert_job(tx, place, owner)
            if set_:
                columns = ", ".join(f"{name} = ${n}" for n, name in enumerate(set_, 2))
                await tx.run(f"update jobs set {columns} where id = $1", job, *set_.values())
        return job

    return make


@pytest.fixture(scope="session")
async def shared_queue(worker_id: str) -> AsyncIterator[QueueHarness]:
    async with open_queue(f"stead_queue_{worker_id}") as job_queue:
        yield job_queue


@pytest.fixture
async def job_queue(shared_queue: QueueHarness) -> QueueHarness:
    await shared_queue.clear()
    return shared_queue
