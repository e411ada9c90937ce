"""A site with a repository and a hook, and a forge that posts deliveries to it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.git import push_builds
from stead.control.webhooks.client import HttpsClient
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.address_policy import AddressPolicy
from tests import teams
from tests.conftest import NewPerson
from tests.control.git import forges
from tests.control.git.forges import DeliveryRequest
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node
from tests.git_server import GitServer
from tests.people import Person

REPOSITORY = "https://git.example.com/octo/site.git"
PREVIEW_DOMAIN = "preview.example"
LOOPBACK = (ip_network("127.0.0.0/8"),)


def commit(number: int) -> str:
    return f"{number + 1:040x}"


@dataclass
class ConnectedSite:
    plane: ControlPlane
    person: Person
    forge: httpx.AsyncClient
    id: str
    env: str
    secret: str = ""
    repository: str = REPOSITORY

    @property
    def driver(self) -> SiteDriver:
        return SiteDriver(self.plane)

    async def route(self, *rules: tuple[str, str], roll: bool = False) -> dict[str, Any]:
        body = {"rules": [{"pattern": pattern, "target": target} for pattern, target in rules]}
        put = await self.person.session.request(
            "PUT", f"/v1/sites/{self.id}/branch-routes", json={**body, "roll_hook_secret": roll}
        )
        assert put.status_code == 200, put.text
        answer = dict(put.json()["data"])
        self.secret = answer.get("hook_secret", self.secret)
        return answer

    async def get_routes(self) -> dict[str, Any]:
        got = await self.person.session.get(f"/v1/sites/{self.id}/branch-routes")
        assert got.status_code == 200, got.text
        return dict(got.json()["data"])

    async def post(self, posted: DeliveryRequest, *, site: str | None = None) -> httpx.Response:
        return await self.forge.post(
            f"/hooks/git/{site or self.id}", content=posted.body, headers=posted.headers
        )

    def build_delivery(self, branch: str, number: int) -> DeliveryRequest:
        return forges.github(
            forges.github_push(f"refs/heads/{branch}", commit(number), self.repository), self.secret
        )

    async def push(self, branch: str = "main", number: int = 1) -> dict[str, Any]:
        """Push as GitHub does, and return the decision."""
        answered = await self.post(self.build_delivery(branch, number))
        assert answered.status_code == 202, answered.text
        (decision,) = answered.json()["data"]["decisions"]
        return dict(decision)

    async def builds(self) -> list[tuple[str, str, str | None, str | None]]:
        """Environment, status, ref and commit of every build, oldest first."""
        async with self.plane.database.reading() as tx:
            return await tx.all(
                lambda *row: row,
                "select env_id, status, ref, commit from builds where site_id = $1 order by id",
                self.id,
            )

    async def events(self, *types: str) -> list[dict[str, Any]]:
        async with self.plane.database.reading() as tx:
            return await tx.all(
                lambda type_, data: {"type": type_, **data},
                "select type, data from events where site_id = $1 and type = any($2) order by written",
                self.id,
                list(types),
            )

    async def value(self, sql: str, *args: object) -> Any:
        async with self.plane.database.reading() as tx:
            return await tx.value(sql, *args)

    async def row(self, sql: str, *args: object) -> tuple[Any, ...] | None:
        async with self.plane.database.reading() as tx:
            return await tx.one(lambda *row: row, sql, *args)

    async def finish_environment(self, env: str) -> None:
        """Let the environment's job succeed, and retry its pending push now instead of in a minute."""
        await self.run("update jobs set status = 'succeeded' where env_id = $1 and type like 'env%'", env)
        await self.run("update environments set status = 'running', node_id = 'node-1' where id = $1", env)
        await self.run("update pushes set try_at = now() - interval '1 second' where env_id = $1", env)

    async def deploy(self) -> None:
        """Give production a live deployment."""
        await self.run(
            "insert into deployments (id, site_id, env_id, artifact_id, digest, kind, status, created_at,"
            " deployed_at, current_since)"
            " values ($1, $2, $3, 'art', 'd', 'deploy', 'live', now(), now(), now())",
            self.id.replace("site_", "dep_"),
            self.id,
            self.env,
        )

    async def run(self, sql: str, *args: object) -> None:
        async with self.plane.database.transaction() as tx:
            await tx.run(sql, *args)

    async def begin_build(self, job: str) -> None:
        """Do what a build's job does first."""
        await self.driver.run_first_step(job)

    async def fail_build(self, job: str, code: str = "build.failed") -> None:
        await self.driver.fail_job(job, code)

    async def follow_up(self) -> None:
        """Do what a worker does every second."""
        found = True
        while found:
            async with self.plane.database.transaction() as tx:
                found = await push_builds.follow_up_build(tx) > 0
        async with self.plane.database.transaction() as tx:
            await push_builds.finish_first_pushes(tx)


@pytest.fixture
async def node(plane: ControlPlane) -> str:
    async with plane.database.transaction() as tx:
        await record_node(tx, builders=("static",))
    return "node-1"


@pytest.fixture
def forge(plane: ControlPlane) -> httpx.AsyncClient:
    """A plain HTTP client, which does not know the API."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(plane), base_url="http://stead.test")


@pytest.fixture
async def connect(plane: ControlPlane, new_person: NewPerson, forge: httpx.AsyncClient, node: str) -> Any:
    async def create(
        *rules: tuple[str, str], repository: str | None = REPOSITORY, **more: Any
    ) -> ConnectedSite:
        person = await new_person()
        async with plane.database.transaction() as tx:
            site = await teams.insert_site(tx, account=person.id, **more)
            await tx.run(
                "update sites set git_repo = $2, git_branch = 'main' where id = $1", site, repository
            )
            await tx.run("update environments set node_id = $2 where site_id = $1", site, node)
            env = await teams.environment_of(tx, site)
        connected = ConnectedSite(plane, person, forge, site, env, repository=repository or REPOSITORY)
        await connected.route(*rules, roll=True)
        return connected

    return create


@pytest.fixture
async def site(connect: Any) -> ConnectedSite:
    """Only `main` is routed, to production."""
    connected: ConnectedSite = await connect()
    return connected


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def client(authority: CertificateAuthority) -> AsyncIterator[HttpsClient]:
    created = HttpsClient(AddressPolicy(LOOPBACK), context=authority.client_context(), seconds=10)
    yield created
    await created.close()


@pytest.fixture
async def server(tmp_path: Path, authority: CertificateAuthority) -> AsyncIterator[GitServer]:
    created = GitServer(tmp_path)
    async with created.open(authority.server_context(created.host)):
        yield created
