"""An idle stream sends a comment from time to time and uses no CPU time."""

import time

import pytest

from stead.control.app import ControlPlane
from stead.control.jobs import stream
from tests import teams
from tests.patience import time_limit
from tests.people import Person


@pytest.fixture
async def job(plane: ControlPlane, person: Person) -> str:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        return await teams.insert_job(tx, site, person.id, status="running")


def test_a_client_waits_fifteen_seconds_for_a_sign_of_life():
    assert stream.KEEP_ALIVE_SECONDS == 15.0


async def test_a_comment_comes_while_nothing_else_does(
    plane: ControlPlane, job: str, monkeypatch: pytest.MonkeyPatch
):
    # So that the test need not wait for the pause that ships.
    monkeypatch.setattr(stream, "KEEP_ALIVE_SECONDS", 0.1)
    frames = stream.follow(plane.context, job, "").frames
    async with time_limit(10):
        assert await anext(frames) == b"retry: 2000\n\n"
        assert (await anext(frames)).startswith(b"event: job\n")
        began = time.monotonic()
        for _ in range(5):
            comment = b""
            while not comment:
                comment = await anext(frames)
            assert comment.startswith(b":")
            assert comment.endswith(b"\n\n")
    assert time.monotonic() - began > 0.4
    await frames.aclose()


async def test_whoever_stops_listening_is_watched_for_no_longer(plane: ControlPlane, job: str):
    frames = stream.follow(plane.context, job, "").frames
    await anext(frames)
    await anext(frames)
    assert job in plane.listener._watchers
    await frames.aclose()
    assert job not in plane.listener._watchers
