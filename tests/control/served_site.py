"""A live site on a node, for tests of what is announced to the edges."""

from dataclasses import dataclass
from typing import Any

from stead.control.app import ControlPlane
from stead.protocol import edge_records
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node
from tests.people import Person

REGION = "us-east"


@dataclass
class ServedSite:
    """A site that visitors can reach."""

    person: Person
    driver: SiteDriver
    id: str
    domain: str
    env: str

    async def get(self, path: str) -> Any:
        response = await self.person.session.get(f"/v1/sites/{self.id}{path}")
        assert response.status_code == 200, response.text
        return response.json()["data"]

    async def request_job(self, method: str, path: str, body: object = None) -> Any:
        """Requests a change and returns its job, which is not performed."""
        response = await self.person.session.request(method, f"/v1/sites/{self.id}{path}", json=body)
        assert response.status_code == 202, response.text
        return response.json()["data"]

    async def complete(self, method: str, path: str, body: object = None) -> None:
        """Requests a change and performs every step of its job."""
        await self.driver.run_job((await self.request_job(method, path, body))["id"])

    @property
    def record(self) -> edge_records.EnvironmentRecord:
        found = self.driver.announced[edge_records.environment_key(REGION, self.env)]
        assert isinstance(found, edge_records.EnvironmentRecord)
        return found


async def create_served_site(plane: ControlPlane, person: Person, node: str = "node-1") -> ServedSite:
    driver = SiteDriver(plane)
    async with plane.database.transaction() as tx:
        await record_node(tx, node, region=REGION)
    site, domain = await driver.insert_site(account=person.id)
    await driver.execute("update environments set node_id = $2 where site_id = $1", site, node)
    env = await driver.fetch_value("select id from environments where site_id = $1", site)
    return ServedSite(person, driver, site, domain, env)
