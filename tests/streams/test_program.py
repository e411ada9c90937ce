"""The output of a job that `stead wp` prints, or returns as JSON."""

import asyncio
import os
import sys
from pathlib import Path

from stead.control.exec import jobs
from tests import teams
from tests.clients.terminal import Done, Machine
from tests.patience import time_limit
from tests.streams.stage import NODE, Stage

LINES = ["name,status", "akismet,active"]
ARGUMENTS = ("plugin", "list", "--format=csv", "--json")
"""The last one is for WP-CLI."""


async def test_what_a_command_prints_is_the_result(stage: Stage, tmp_path: Path):
    printed = await _run(stage, tmp_path, "wp")
    assert (printed.code, printed.out.splitlines()) == (0, LINES), printed.err
    returned = await _run(stage, tmp_path, "wp", "--json")
    assert returned.code == 0, returned.err
    assert returned.json["output"] == LINES
    assert returned.json["job"]["status"] == "succeeded"


async def test_the_output_of_a_command_that_fails_is_shown(stage: Stage, tmp_path: Path):
    error = {"code": "exec.failed", "message": "Exit code 1."}
    failed = await _run(stage, tmp_path, "wp", "--json", error=error)
    assert (failed.code, failed.json["error"]["code"]) == (3, "exec.failed")
    assert failed.err.splitlines() == LINES
    shown = await _run(stage, tmp_path, "wp", error=error)
    assert (shown.code, shown.out.splitlines()) == (3, LINES)
    assert "error: " in shown.err, "--json was an argument of the command"


async def test_a_job_is_followed_to_its_end_also_when_nobody_reads(stage: Stage, tmp_path: Path):
    """`stead follow JOB 2>&1 | head -1`."""
    job = await stage.job(status="running")
    await stage.say(job, LINES)
    variables = {"STEAD_BASE_URL": stage.one.url, "STEAD_API_KEY": stage.secret}
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stead_cli", "follow", job),
        env=Machine(tmp_path, variables).environment,
        stdout=writing,
        stderr=writing,
    )
    os.close(writing)
    async with time_limit(60):
        assert await asyncio.to_thread(os.read, reading, 1)
        os.close(reading)
        await stage.say(job, LINES)
        await stage.update(job, status="failed", error={"code": "job.lost", "message": "It is lost."})
        assert await process.wait() == 3


async def test_a_job_is_shown_also_to_those_who_wait_for_some_time(stage: Stage, tmp_path: Path):
    variables = {"STEAD_BASE_URL": stage.one.url, "STEAD_API_KEY": stage.secret}
    job = await stage.job(status="running")
    await stage.say(job, LINES)
    await stage.update(job, status="succeeded")
    done = await asyncio.to_thread(Machine(tmp_path, variables).stead, "follow", job, "--timeout", "60")
    assert (done.code, done.out) == (0, "succeeded\n"), done.err
    assert done.err.splitlines() == LINES


async def _run(stage: Stage, folder: Path, *words: str, error: dict[str, str] | None = None) -> Done:
    async with stage.world._plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=stage.account)
        await tx.run("update sites set profile = 'vanilla', runtime = 'cms' where id = $1", site)
    variables = {"STEAD_BASE_URL": stage.one.url, "STEAD_API_KEY": stage.secret, "STEAD_SITE": site}
    running = asyncio.create_task(asyncio.to_thread(Machine(folder, variables).stead, *words, *ARGUMENTS))
    job = await _job_of(stage, site)
    await stage.update(job, status="running", nodes=[NODE.id])
    await stage.say(job, LINES)
    await stage.update(job, status="failed" if error else "succeeded", error=error)
    return await running


async def _job_of(stage: Stage, site: str) -> str:
    async with time_limit(60):
        while True:
            async with stage.world._plane.database.transaction() as tx:
                query = "select id from jobs where site_id = $1 and type = $2"
                found = await tx.value(query, site, jobs.RUN_COMMAND.type)
            if found is not None:
                return str(found)
            await asyncio.sleep(0.1)
