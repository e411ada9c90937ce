"""A running site on a node, for tests of its environments."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.protocol import edge_records
from tests import teams
from tests.client import Client
from tests.conftest import NewPerson
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node
from tests.people import Person

REGION = "us-east"
NODE = "node-1"


@dataclass
class HostedSite:
    """A running site on a node, with its owner and a client."""

    person: Person
    driver: SiteDriver
    id: str
    domain: str
    client: Client

    async def request(self, method: str, path: str = "", body: object = None) -> httpx.Response:
        return await self.client.request(method, f"/v1/sites/{self.id}/environments{path}", json=body)

    async def request_environment(self, **body: Any) -> httpx.Response:
        return await self.request("POST", body=body)

    async def request_branch(self, name: str) -> httpx.Response:
        return await self.request_environment(type="branch", branch=name)

    async def create_environment(self, **body: Any) -> str:
        """Creates an environment through the API and performs its job. Returns its id."""
        response = await self.request_environment(**body)
        assert response.status_code == 202, response.text
        await self.driver.run_job(response.json()["data"]["id"])
        return str(response.json()["data"]["resource"]["env_id"])

    async def insert_environment(
        self, status: str = "running", branch: str | None = None, node: str | None = NODE
    ) -> str:
        """Inserts an environment with this status, without a job."""
        async with self.driver.plane.database.transaction() as tx:
            return await teams.insert_environment(tx, self.id, branch=branch, status=status, node=node)

    async def read(self, env: str) -> dict[str, Any]:
        response = await self.request("GET", f"/{env}")
        assert response.status_code == 200, response.text
        return dict(response.json()["data"])

    async def list_ids(self) -> list[str]:
        response = await self.request("GET")
        assert response.status_code == 200, response.text
        return [each["id"] for each in response.json()["data"]]

    async def complete(self, method: str, path: str, body: object = None) -> None:
        """Requests an action and performs every step of its job."""
        response = await self.request(method, path, body)
        assert response.status_code == 202, response.text
        await self.driver.run_job(response.json()["data"]["id"])

    async def fail(self, method: str, path: str, body: object = None) -> None:
        """Requests an action and undoes its job after all announcements."""
        response = await self.request(method, path, body)
        assert response.status_code == 202, response.text
        await self.driver.undo_job(response.json()["data"]["id"])

    async def column(self, env: str, column: str) -> Any:
        return await self.driver.fetch_value(f"select {column} from environments where id = $1", env)

    async def result_events(self, env: str) -> list[str]:
        """The events of an environment that report the result of an action."""
        async with self.driver.plane.database.reading() as tx:
            return await tx.all(
                str,
                "select type from events where env_id = $1 and type like 'env.%'"
                " and type <> 'env.status_changed' order by written",
                env,
            )

    def record(self, env: str) -> edge_records.EdgeRecord | None:
        """The record of the environment that was announced last."""
        return self.driver.announced.get(edge_records.environment_key(REGION, env))

    def host_record(self, host: str) -> edge_records.EdgeRecord | None:
        return self.driver.announced.get(edge_records.host_key(REGION, host))


async def create_hosted_site(plane: ControlPlane, person: Person, client: Client | None = None) -> HostedSite:
    driver = SiteDriver(plane)
    async with plane.database.transaction() as tx:
        await record_node(tx, NODE, REGION)
    site, domain = await driver.insert_site(account=person.id)
    await driver.execute("update environments set node_id = $2 where site_id = $1", site, NODE)
    return HostedSite(person, driver, site, domain, client or person.session)


@pytest.fixture
async def site(plane: ControlPlane, new_person: NewPerson) -> HostedSite:
    return await create_hosted_site(plane, await new_person())


@pytest.fixture
async def other_site(plane: ControlPlane, new_person: NewPerson) -> HostedSite:
    """A site of another tenant."""
    return await create_hosted_site(plane, await new_person())


@pytest.fixture
async def other_node(plane: ControlPlane) -> AsyncIterator[str]:
    """A second node with room. Environments that a test leaves on it stay there, so it is not reused."""
    node = f"node-{uuid4().hex[:8]}"
    async with plane.database.transaction() as tx:
        await record_node(tx, node)
    yield node
    async with plane.database.transaction() as tx:
        await tx.run("update nodes set capacity = 0 where id = $1", node)


@pytest.fixture(scope="session")
async def small_plan(plane: ControlPlane) -> str:
    """A plan that allows three environments, and two branches per site."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('small', 'For tests', 1000, 3, 2, 1000, 1000,"
            " 60000000, 60000000, 60000000, 60000000)"
        )
    return "small"
