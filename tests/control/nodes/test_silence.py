"""A node is lost if it is silent. One that nobody could hear is not known to be silent."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.jobs.activities import Activities
from stead.control.jobs.definition import NotYet
from stead.control.nodes.gateway import Gateway
from stead.control.nodes.rules import LOST_AFTER
from stead.control.settings import Settings
from stead.control.worker import WorkerProgram
from stead.protocol.commands import Heartbeat
from tests.control.site_driver import SiteDriver, request_deletion, worker_context
from tests.enrolled_nodes import record_node
from tests.people import Person
from tests.teams import insert_environment

NODE = "node-silent"
LOST_SECONDS = LOST_AFTER.total_seconds()


async def _ignore(_: object) -> None:
    """No node is heard here."""


def _worker(plane: ControlPlane, *, could_hear: bool) -> Activities:
    return Activities(
        worker_context(plane),
        plane.context.workflows,
        Gateway(plane.nats, _ignore),
        Announcer(plane.database, EdgeFeed(plane.nats), patience=1),
        "http://stead.test/docs",
        lambda seconds: could_hear or seconds < LOST_SECONDS,
    )


@dataclass
class WordPressSite:
    """On a node without heartbeats."""

    id: str
    domain: str
    staging: str


@pytest.fixture
async def site(person: Person, plane: ControlPlane) -> AsyncIterator[WordPressSite]:
    id_, domain = await SiteDriver(plane).insert_site(account=person.id)
    async with plane.database.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        await tx.run("update nodes set last_seen_at = $2 where id = $1", NODE, tx.now - timedelta(hours=1))
        await tx.run("update sites set profile = 'vanilla', runtime = 'cms' where id = $1", id_)
        staging = await insert_environment(tx, id_)
        await tx.run("update environments set node_id = $2 where site_id = $1", id_, NODE)
    yield WordPressSite(id_, domain, staging)
    async with plane.database.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", id_)


@pytest.mark.parametrize("what", ["deletion", "suspension"])
async def test_processes_are_not_left_running_because_nobody_could_hear_the_node(
    person: Person, plane: ControlPlane, site: WordPressSite, what: str
):
    if what == "deletion":
        answer = await request_deletion(person.session, site.id, site.domain)
    else:
        path = f"/v1/sites/{site.id}/environments/{site.staging}/suspend"
        answer = await person.session.post(path)
    job = answer.json()["data"]["id"]
    with pytest.raises(NotYet):
        await _worker(plane, could_hear=False).perform(job, "processes")
    # A node that is lost is not waited for.
    await _worker(plane, could_hear=True).perform(job, "processes")
    async with plane.database.reading() as tx:
        assert await tx.value("select nodes from jobs where id = $1", job) == []


async def test_a_worker_hears_nobody_while_it_cannot_record_heartbeats(settings: Settings):
    without_database = msgspec.structs.replace(settings, database_url="postgresql://127.0.0.1:1/none")
    worker = WorkerProgram(without_database)
    worker.nats._responding_since = time.monotonic() - 2 * LOST_SECONDS
    assert worker.services.could_hear_nodes_for(LOST_SECONDS)
    await worker._record_heartbeat(Heartbeat(NODE, "nowhere", 1, 0, "0.1.0"))
    assert worker.services.could_hear_nodes_for(0)
    assert not worker.services.could_hear_nodes_for(LOST_SECONDS)
