"""The row of a job that has ended can never be changed, not even with SQL."""

from typing import Any

import asyncpg
import pytest

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.sites import deploy_nowhere, new_site, running_site

pytestmark = pytest.mark.faults

CHANGES = [
    "update jobs set status = 'running' where id = $1",
    "update jobs set status = status where id = $1",
    "update jobs set error = null, result = '{}' where id = $1",
    "update jobs set finished_at = null where id = $1",
    "update jobs set revision = revision + 1 where id = $1",
    "update jobs set site_id = site_id, owner = 'somebody' where id = $1",
    "update jobs set cancel_requested_at = now() where id = $1",
    "update jobs set id = 'job_' || md5(id) where id = $1",
    "insert into jobs select * from jobs where id = $1 on conflict (id) do update set status = 'queued'",
    "merge into jobs j using (select $1::text as id) m on j.id = m.id when matched then delete",
    "with gone as (delete from job_steps where job_id = $1) delete from jobs where id = $1",
    "delete from jobs where id = $1",
]


@pytest.fixture(scope="module")
async def finished(harness: Harness) -> dict[str, str]:
    await harness.node.set_step_seconds(0)
    site = await running_site(harness)
    ((succeeded,),) = await harness.sql("select id from jobs where site_id = $1", site.id)
    other = await new_site(harness)
    failed = await deploy_nowhere(harness, other)
    await harness.ended(failed)
    return {"succeeded": succeeded, "failed": failed}


async def _row(connection: Any, job: str) -> dict[str, Any]:
    return dict(await connection.fetchrow("select * from jobs where id = $1", job))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("status", ["succeeded", "failed"])
async def test_the_row_of_a_job_that_has_ended_cannot_be_changed_or_deleted(
    harness: Harness, finished: dict[str, str], status: str, change: str
) -> None:
    job = finished[status]
    connection = await harness.connect()
    try:
        before = await _row(connection, job)
        assert before["status"] == status
        with pytest.raises(asyncpg.RaiseError, match=f"job {job} is finished"):
            await connection.execute(change, job)
        assert await _row(connection, job) == before
    finally:
        await connection.close()


async def test_the_rows_of_jobs_that_have_ended_cannot_be_truncated(
    harness: Harness, finished: dict[str, str]
) -> None:
    connection = await harness.connect()
    attempt = connection.transaction()
    await attempt.start()
    try:
        with pytest.raises(asyncpg.RaiseError):
            await connection.execute("truncate jobs cascade")
    finally:
        await attempt.rollback()
        await connection.close()
