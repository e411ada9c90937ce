"""A live site on a node, and what the edges are told of it."""

from dataclasses import dataclass
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.protocol import edge_records
from stead.protocol.commands import Heartbeat
from tests.conftest import NewPerson
from tests.control.sites.estate import Estate
from tests.people import Person

REGION = "us-east"


@dataclass
class Served:
    """A site that visitors can reach."""

    person: Person
    estate: Estate
    id: str
    domain: str
    env: str

    async def get(self, path: str) -> Any:
        found = await self.person.session.get(f"/v1/sites/{self.id}{path}")
        assert found.status_code == 200, found.text
        return found.json()["data"]

    async def change(self, method: str, path: str, body: object = None) -> Any:
        """The job that the change is."""
        asked = await self.person.session.request(method, f"/v1/sites/{self.id}{path}", json=body)
        assert asked.status_code == 202, asked.text
        return asked.json()["data"]

    async def changed(self, method: str, path: str, body: object = None) -> None:
        await self.estate.perform((await self.change(method, path, body))["id"])

    @property
    def record(self) -> edge_records.EnvironmentRecord:
        found = self.estate.announced[edge_records.environment_key(REGION, self.env)]
        assert isinstance(found, edge_records.EnvironmentRecord)
        return found


@pytest.fixture
async def site(plane: ControlPlane, new_person: NewPerson) -> Served:
    person, estate = await new_person(), Estate(plane)
    async with plane.database.transaction() as tx:
        await nodes.record_heartbeat(tx, Heartbeat("node-1", REGION, 100_000, 0, "0.1.0"))
    site, domain = await estate.site(account=person.id)
    await estate.run("update environments set node_id = 'node-1' where site_id = $1", site)
    env = await estate.value("select id from environments where site_id = $1", site)
    return Served(person, estate, site, domain, env)
