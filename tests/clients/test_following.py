"""`stead` follows jobs: what cannot be read is said, and never taken for nothing."""

import asyncio

import pytest

from stead.control.jobs import queue
from stead_cli import failures
from stead_cli.follow import follow, follow_output
from stead_cli.session import Session
from tests.clients.callers import Caller
from tests.clients.fault_proxy import FaultProxy
from tests.clients.test_python_faults import begin_a_job
from tests.people import Person


@pytest.fixture
def flavor() -> str:
    return "blocking"


async def finish(person: Person, job: str) -> None:
    async with person.transaction() as tx:
        row = await queue.get(tx, job)
        assert row is not None
        assert await queue.finish(tx, row, None)


async def test_output_that_cannot_be_read_is_a_failure(
    proxied: Caller,
    proxy: FaultProxy,
    person: Person,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """`HOME=$(stead wp option get home)` must not be empty after a success."""
    handle = await begin_a_job(proxied)
    await finish(person, handle.id)
    # Shorter than what ships: waits between attempts grow to seconds.
    monkeypatch.setattr("stead_sdk._sync.jobs._MOST_FAILURES", 2)
    proxy.only, proxy.always = "/stream", "429"
    lines: list[str] = []
    with pytest.raises(failures.CliError, match="could not be read") as failed:
        await asyncio.to_thread(follow_output, Session({}), handle, lines.append)
    assert failed.value.exit_code == failures.UNAVAILABLE
    assert handle.id in failed.value.fix
    job = await asyncio.to_thread(follow, Session({}), handle)
    assert job.status == "succeeded", "what a job has shown is not its result"
    assert "The stream cannot be read" in capsys.readouterr().err
