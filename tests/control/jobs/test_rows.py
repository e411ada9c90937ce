"""What holds of every job whatever the code does: the database and the declaration see to it."""

from datetime import timedelta

import asyncpg
import pytest
from msgspec import Struct

from stead.control.app import ControlPlane
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.postgres import Tx
from stead.control.features import workflows
from stead.control.jobs import queue
from stead.control.jobs.activities import Activities
from stead.control.jobs.definition import Results, Step, Workflow, WorkflowCatalog, control_step
from stead.control.jobs.kinds import RESULT_KEYS, Job, JobKind
from stead.control.nodes.gateway import Gateway
from tests.control.jobs.conftest import NewJob
from tests.control.site_driver import worker_context
from tests.people import Person

SPEC_KEYS = {
    *("artifact_id", "build_id", "snapshot_id", "deployment_id", "scan_id", "release_id", "digest", "commit"),
    *("ref", "branch", "url", "env_id", "key_id", "download_url", "expires_at", "size_bytes"),
}


class _Nothing(Struct):
    pass


async def _produce(_tx: Tx, _job: Job[_Nothing]) -> Results:
    return {"url": "http://a.example/", "commit": "abc", "env_id": "env_1", "password": "hunter2"}


async def _never(_tx: Tx, _job: Job[_Nothing], _reason: str) -> None:
    return


async def _unheard(_: object) -> None:
    return


def _kind(type_: str, *, results: set[str] = frozenset(), variant: str = "") -> JobKind[_Nothing]:  # type: ignore[assignment]
    return JobKind(
        type_,
        params=_Nothing,
        resource="site",
        lock="site",
        limit=timedelta(minutes=1),
        results=results,
        variant=variant,
    )


def _workflow(kind: JobKind[_Nothing], steps: list[Step] | None = None) -> Workflow[_Nothing]:
    return Workflow(kind, steps=steps or [control_step("one", _produce)], failed=_never)


@pytest.mark.parametrize("status", ["succeeded", "failed"])
@pytest.mark.parametrize(
    "statement",
    [
        "update jobs set status = 'running' where id = $1",
        "update jobs set status = status where id = $1",
        'update jobs set result = \'{"url": "x"}\' where id = $1',
        "update jobs set error = null where id = $1",
        "update jobs set revision = 1 where id = $1",
        "update jobs set site_id = site_id, id = 'job_other' where id = $1",
        "delete from jobs where id = $1",
    ],
)
async def test_a_job_that_has_ended_never_changes(
    person: Person, plane: ControlPlane, new_job: NewJob, status: str, statement: str
):
    job = await new_job(account=person.id, status=status)
    with pytest.raises(asyncpg.RaiseError):
        async with plane.database.transaction() as tx:
            await tx.run(statement, job)
    assert (await person.session.get(f"/v1/jobs/{job}")).json()["data"]["status"] == status


async def test_every_change_counts_as_a_revision(person: Person, plane: ControlPlane, new_job: NewJob):
    job = await new_job(account=person.id)
    revision = "select revision from jobs where id = $1"
    async with plane.database.transaction() as tx:
        assert await tx.value(revision, job) == 1
        for expected, change in ((2, "status = 'running'"), (3, "revision = 99"), (4, "status = 'failed'")):
            await tx.run(f"update jobs set {change} where id = $1", job)
            assert await tx.value(revision, job) == expected


async def test_a_status_that_is_none_is_refused(plane: ControlPlane, person: Person, new_job: NewJob):
    job = await new_job(account=person.id)
    with pytest.raises(asyncpg.CheckViolationError):
        async with plane.database.transaction() as tx:
            await tx.run("update jobs set status = 'cancelled' where id = $1", job)


def test_only_the_keys_of_the_contract_may_be_in_a_result():
    assert RESULT_KEYS == SPEC_KEYS
    for workflow in workflows().values():
        assert workflow.kind.results <= SPEC_KEYS


@pytest.mark.parametrize("key", ["password", "secret", "URL", "", "node_id"])
def test_a_kind_that_promises_another_key_is_refused(key: str):
    with pytest.raises(TypeError):
        _kind("test.result", results={"url", key})


def test_a_kind_with_two_steps_of_one_name_is_refused():
    with pytest.raises(TypeError):
        _workflow(_kind("test.steps"), [control_step(name, _produce) for name in ("one", "two", "one")])


def test_two_kinds_of_one_name_are_refused_and_variants_are_not():
    different = [_workflow(_kind("test.twice", variant=variant)) for variant in ("", "other")]
    assert len(WorkflowCatalog(different)) == 2
    for variant in ("", "other"):
        with pytest.raises(TypeError):
            WorkflowCatalog([*different, _workflow(_kind("test.twice", variant=variant))])


async def test_what_a_step_returns_beyond_its_promise_is_not_kept(
    person: Person, plane: ControlPlane, new_job: NewJob
):
    catalog = WorkflowCatalog([_workflow(_kind("test.whitelist", results={"url", "env_id"}))])
    job = await new_job(account=person.id, params={"kind": "test.whitelist", "with": {}})
    announcer = Announcer(plane.database, EdgeFeed(plane.nats), patience=1)
    gateway = Gateway(plane.nats, _unheard)
    steps = Activities(worker_context(plane), catalog, gateway, announcer, "http://stead.test/docs")
    await steps.perform(job, "one")  # the last control step ends the job with what it changed
    await steps.perform(job, "one")
    await steps.finish(job, None)
    done = (await person.session.get(f"/v1/jobs/{job}")).json()["data"]
    assert (done["status"], done["result"]) == ("succeeded", {"url": "http://a.example/", "env_id": "env_1"})


async def test_the_result_of_a_job_that_failed_is_not_shown(person: Person, new_job: NewJob):
    job = await new_job(account=person.id, status="failed", result={"url": "http://a.example/"})
    assert (await person.session.get(f"/v1/jobs/{job}")).json()["data"]["result"] is None


async def test_a_job_ends_once(person: Person, plane: ControlPlane, new_job: NewJob):
    job = await new_job(account=person.id, status="running")
    async with plane.database.transaction() as tx:
        row = await queue.get(tx, job)
        assert row is not None
        assert await queue.finish(tx, row, None)
        assert not await queue.finish(tx, row, {"code": "job.lost"})
        told = await tx.all(str, "select type from events where job_id = $1", job)
    assert told == ["job.succeeded"]
