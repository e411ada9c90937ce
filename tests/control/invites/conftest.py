"""A control plane of its own that sends mail, and does so only when it is told to."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.conftest import UNLIMITED
from tests.control.invites.sink import Sink, new_sink
from tests.people import Person, make_person
from tests.teams import spare_database


@pytest.fixture
def closed_sink() -> Sink:
    return new_sink()


@pytest.fixture
def sink(closed_sink: Sink) -> Iterator[Sink]:
    with closed_sink.open():
        yield closed_sink


@pytest.fixture(scope="package")
async def post_office(settings: Settings, worker_id: str) -> AsyncIterator[Settings]:
    """A database of its own: the housekeeping of other planes would take its letters."""
    async with spare_database(f"stead_mail_{worker_id}") as url:
        yield replace(settings, database_url=url, mail_from="post@stead.example")


@dataclass
class Mailing:
    plane: ControlPlane
    anonymous: Client

    async def person(self) -> Person:
        return await make_person(self.plane, self.anonymous)

    async def invite(self, person: Person, team: str, email: str, role: str = "observer") -> str:
        """The token."""
        made = await person.session.post(f"/v1/teams/{team}/invites", json={"role": role, "email": email})
        assert made.status_code == 201, made.text
        return str(made.json()["data"]["token"])

    async def waiting(self) -> int:
        async with self.plane.database.reading() as tx:
            return int(await tx.value("select count(*) from outgoing_mail"))


@pytest.fixture
async def mailing(post_office: Settings, closed_sink: Sink, clock: MovableClock) -> AsyncIterator[Mailing]:
    plane = ControlPlane(replace(post_office, smtp_url=closed_sink.url), clock=clock)
    await plane.redis.start()
    async with plane.database.transaction() as tx:
        await tx.run(f"{UNLIMITED} on conflict do nothing")
        await tx.run("delete from outgoing_mail")
        await tx.run("delete from sent_emails")
    yield Mailing(plane, Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test"))
    await plane.redis.close()
    await plane.database.close()
