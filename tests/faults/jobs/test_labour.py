"""Work of the worker itself, caught in the act: its workers die, or it is not wanted any more."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx
import psutil
import pytest

from stead.control import features
from stead.control.builds.workflows import RUN
from stead.control.environments.workflows.content import PUSH
from stead.control.jobs.definition import Workflow
from stead.control.jobs.rules import JobCancelled
from stead.dev.engines.seaweedfs import SeaweedFS
from tests.faults.jobs import checks
from tests.faults.jobs.cases import Case, cases_of, observe
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import (
    Site,
    build,
    push,
    pushing_site,
    repository_site,
    running_site,
)

pytestmark = pytest.mark.faults

Held = Callable[[Harness], AbstractAsyncContextManager[Callable[[str], Awaitable[Any]]]]


@asynccontextmanager
async def _store_held(harness: Harness) -> AsyncIterator[Callable[[str], Awaitable[Any]]]:
    """The object store answers nobody; a job is in its step once the one before it is done."""
    first = harness.stack.child(SeaweedFS).status.process
    assert first is not None
    main = psutil.Process(first.pid)
    held = [main, *main.children(recursive=True)]

    async def inside(job: str) -> Any:
        return await harness.sql(
            "select from job_steps where job_id = $1 and step in ('begin', 'content')", job
        )

    for process in held:
        process.suspend()
    try:
        yield inside
    finally:
        for process in held:
            with suppress(psutil.NoSuchProcess):
                process.resume()


@asynccontextmanager
async def _keys_held(harness: Harness) -> AsyncIterator[Callable[[str], Awaitable[Any]]]:
    """Nobody gets a key to sign with; a job is in its step once it waits for one."""
    connection = await harness.connect()
    await connection.fetch("select pg_advisory_lock(hashtext('artifacts.signing_keys'))")

    async def inside(_: str) -> Any:
        return await harness.sql(
            "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
            connection.get_server_pid(),
        )

    try:
        yield inside
    finally:
        await connection.close()


async def _sent(harness: Harness, site: Site) -> str:
    upload = await harness.ask("POST", f"/v1/sites/{site.id}/uploads", status=201)
    async with httpx.AsyncClient() as client:
        assert (await client.put(upload["url"], content=b"an archive")).is_success
    return str(upload["id"])


@dataclass(frozen=True)
class Labour:
    step: str
    hold: Held
    from_upload: bool = False
    kind: Workflow[Any] = RUN
    artifacts: tuple[int, int] = (1, 0)
    """How many the site has when it succeeded, and when it was cancelled."""

    @property
    def case(self) -> Case:
        return Case(self.kind, self.kind.steps[self.step])

    async def prepared(self, harness: Harness) -> tuple[Site, Callable[[], Awaitable[str]]]:
        """A site, and what starts its job."""
        if self.kind is PUSH:
            site = await pushing_site(harness)
            return site, lambda: push(harness, site)
        if not self.from_upload:
            site = await repository_site(harness)
            return site, lambda: build(harness, site)
        site = await running_site(harness)
        upload = await _sent(harness, site)

        async def start() -> str:
            path = f"/v1/sites/{site.id}/environments/production/builds"
            return str((await harness.ask("POST", path, {"builder": "static", "source": upload}))["id"])

        return site, start


LABOURS = {
    "source": Labour("source", _store_held, from_upload=True),
    "sign": Labour("sign", _keys_held),
    "copy": Labour("copy", _store_held, kind=PUSH, artifacts=(2, 2)),
}


def test_every_labour_of_every_kind_is_caught() -> None:
    """Whichever kinds have their turn."""
    every = [
        case
        for kind in features.workflows().values()
        for case in cases_of(kind)
        if case.step.long_action is not None
    ]
    assert {str(labour.case) for labour in LABOURS.values()} == {str(case) for case in every}


async def _artifacts(harness: Harness, site: Site) -> list[Any]:
    return await harness.sql("select id from artifacts where site_id = $1", site.id)


@pytest.mark.parametrize("name", LABOURS)
async def test_labour_whose_worker_dies_is_done_by_another(harness: Harness, name: str) -> None:
    labour = LABOURS[name]
    await harness.node.work_at(0)
    site, start = await labour.prepared(harness)
    async with labour.hold(harness) as inside:
        job = await start()
        await until(inside, f"{name} is under way", job)
        for worker in harness.workers:
            await worker.kill()
            worker.start()
    await harness.ended(job)
    seen = await observe(harness, job)
    checks.succeeded(labour.case, seen)
    assert len(await _artifacts(harness, site)) == labour.artifacts[0]
    checks.tried("worker killed", labour.case)


@pytest.mark.parametrize("name", LABOURS)
async def test_labour_that_is_cancelled_leaves_nothing_and_makes_way(harness: Harness, name: str) -> None:
    labour = LABOURS[name]
    await harness.node.work_at(0)
    site, start = await labour.prepared(harness)
    async with labour.hold(harness) as inside:
        job = await start()
        await until(inside, f"{name} is under way", job)
        await harness.ask("POST", f"/v1/jobs/{job}/cancel")
        await harness.ended(job)
    seen = await observe(harness, job)
    checks.failed(labour.case, seen, JobCancelled.code, JobCancelled.message)
    checks.left(seen, labour.case.scenario.failed)
    assert len(await _artifacts(harness, site)) == labour.artifacts[1]
    following = await start()
    await harness.ended(following)
    ((status,),) = await harness.sql("select status from jobs where id = $1", following)
    assert status == "succeeded"
    checks.tried("cancelled", labour.case)
