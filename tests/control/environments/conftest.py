"""A running site on a node, whose environments are made, looked at and worked on."""

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.protocol import edge_records
from stead.protocol.commands import Heartbeat
from tests import teams
from tests.client import Client
from tests.conftest import NewPerson
from tests.control.sites.estate import Estate
from tests.people import Person

REGION = "us-east"
NODE = "node-1"


@dataclass
class Homestead:
    """A site, its owner, and what the edges are told of it."""

    person: Person
    estate: Estate
    id: str
    domain: str
    client: Client

    async def ask(self, method: str, path: str = "", body: object = None) -> httpx.Response:
        return await self.client.request(method, f"/v1/sites/{self.id}/environments{path}", json=body)

    async def create(self, **body: Any) -> httpx.Response:
        return await self.ask("POST", body=body)

    async def branch(self, name: str) -> httpx.Response:
        return await self.create(type="branch", branch=name)

    async def made(self, **body: Any) -> str:
        """The id of a new environment that runs."""
        job = await self.create(**body)
        assert job.status_code == 202, job.text
        await self.estate.perform(job.json()["data"]["id"])
        return str(job.json()["data"]["resource"]["env_id"])

    async def clone(self, status: str = "running", branch: str | None = None, node: str | None = NODE) -> str:
        """One that was never made, in this state."""
        async with self.estate.plane.database.transaction() as tx:
            return await teams.insert_environment(tx, self.id, branch=branch, status=status, node=node)

    async def read(self, env: str) -> dict[str, Any]:
        found = await self.ask("GET", f"/{env}")
        assert found.status_code == 200, found.text
        return dict(found.json()["data"])

    async def listed(self) -> list[str]:
        found = await self.ask("GET")
        assert found.status_code == 200, found.text
        return [each["id"] for each in found.json()["data"]]

    async def done(self, method: str, path: str, body: object = None) -> None:
        """A job, all of whose steps were done."""
        asked = await self.ask(method, path, body)
        assert asked.status_code == 202, asked.text
        await self.estate.perform(asked.json()["data"]["id"])

    async def failed(self, method: str, path: str, body: object = None) -> None:
        """A job that was undone after all of its announcements."""
        asked = await self.ask(method, path, body)
        assert asked.status_code == 202, asked.text
        await self.estate.undo(asked.json()["data"]["id"])

    async def row(self, env: str, column: str) -> Any:
        return await self.estate.value(f"select {column} from environments where id = $1", env)

    async def told(self, env: str) -> list[str]:
        """The events of an environment that tell how something came out."""
        async with self.estate.plane.database.reading() as tx:
            return await tx.all(
                str,
                "select type from events where env_id = $1 and type like 'env.%'"
                " and type <> 'env.status_changed' order by written",
                env,
            )

    def record(self, env: str) -> edge_records.EdgeRecord | None:
        """What the edges know of it."""
        return self.estate.announced.get(edge_records.environment_key(REGION, env))

    def host(self, host: str) -> edge_records.EdgeRecord | None:
        return self.estate.announced.get(edge_records.host_key(REGION, host))


async def homestead(plane: ControlPlane, person: Person, client: Client | None = None) -> Homestead:
    estate = Estate(plane)
    async with plane.database.transaction() as tx:
        await nodes.record_heartbeat(tx, Heartbeat(NODE, REGION, 100_000, 0, "0.1.0"))
    site, domain = await estate.site(account=person.id)
    await estate.run("update environments set node_id = $2 where site_id = $1", site, NODE)
    return Homestead(person, estate, site, domain, client or person.session)


@pytest.fixture
async def home(plane: ControlPlane, new_person: NewPerson) -> Homestead:
    return await homestead(plane, await new_person())


@pytest.fixture
async def neighbour(plane: ControlPlane, new_person: NewPerson) -> Homestead:
    """Somebody else's."""
    return await homestead(plane, await new_person())


@pytest.fixture(scope="session")
async def cramped(plane: ControlPlane) -> str:
    """A plan with room for three environments, and two branches of a site."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('cramped', 'For tests', 1000, 3, 2, 1000, 1000,"
            " 60000000, 60000000, 60000000, 60000000)"
        )
    return "cramped"
