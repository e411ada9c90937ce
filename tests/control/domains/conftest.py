"""A control plane that verifies domains, with a real DNS server. In it, every name points to this machine
unless a test says otherwise, and this machine counts as the edge."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.domains.proof import ProofChecker
from stead.control.domains.verifier import Verifier
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import FeedUnavailable
from stead.control.settings import Settings
from stead.dev.engines.dns import LoopbackDns
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import LOOPBACK
from stead.protocol import edge_records
from stead.protocol.edge_records import EdgeRecord, HostRecord
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.conftest import UNLIMITED
from tests.control.site_driver import SiteDriver, new_domain, request_deletion, request_site
from tests.enrolled_nodes import record_node
from tests.people import Person, make_person
from tests.teams import spare_database

REGION = "us-east"
ELSEWHERE = "192.0.2.7"
PREVIEW = "preview.platform-tests.example"


@dataclass
class Edges:
    """Keeps what is announced, in place of the edges."""

    records: dict[str, EdgeRecord | None] = field(default_factory=dict)
    is_down: bool = False

    async def announce(
        self, _region: str, records: Mapping[str, EdgeRecord | None], _version: int | None = None
    ) -> None:
        if self.is_down:
            raise FeedUnavailable
        self.records.update(records)

    def environment_of(self, host: str) -> str | None:
        """The environment that answers for a host, if any does."""
        found = self.records.get(edge_records.host_key(REGION, host))
        return found.environment if isinstance(found, HostRecord) else None

    def redirect_of(self, host: str) -> str:
        found = self.records[edge_records.host_key(REGION, host)]
        assert isinstance(found, HostRecord)
        return found.redirect_to


@dataclass
class Site:
    """A site with its owner's client."""

    id: str
    domain: str
    env: str
    subdomain: str
    owner: Client
    job: str

    @property
    def domains_path(self) -> str:
        return f"/v1/sites/{self.id}/environments/production/domains"

    async def read(self) -> dict[str, Any]:
        return await _data(await self.owner.get(f"/v1/sites/{self.id}"), 200)

    async def domains(self) -> dict[str, dict[str, Any]]:
        """Its domains by name."""
        listed = await self.owner.get(self.domains_path)
        assert listed.status_code == 200, listed.text
        return {each["hostname"]: each for each in listed.json()["data"]}

    async def domain_of(self, hostname: str) -> dict[str, Any]:
        return (await self.domains())[hostname]

    async def attach(self, hostname: str, **body: Any) -> httpx.Response:
        return await self.owner.post(self.domains_path, json={"hostname": hostname, **body})

    async def verify(self, hostname: str) -> httpx.Response:
        domain = await self.domain_of(hostname)
        return await self.owner.post(f"{self.domains_path}/{domain['id']}/verify")

    async def detach(self, hostname: str) -> httpx.Response:
        domain = await self.domain_of(hostname)
        return await self.owner.delete(f"{self.domains_path}/{domain['id']}")

    async def make_primary(self, hostname: str) -> httpx.Response:
        domain = await self.domain_of(hostname)
        return await self.owner.post(f"{self.domains_path}/{domain['id']}/primary")


async def _data(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    return dict(response.json()["data"])


@dataclass
class Harness:
    plane: ControlPlane
    anonymous: Client
    dns: LoopbackDns
    clock: MovableClock
    edges: Edges = field(default_factory=Edges)

    @property
    def driver(self) -> SiteDriver:
        return SiteDriver(self.plane, self.edges.records)

    def verifier(self, **changed: Any) -> Verifier:
        parts = {
            "checker": ProofChecker(LOOPBACK, self.dns.address),
            "platform": self.plane.settings.own_names,
            **changed,
        }
        return Verifier(self.plane.database, cast("Announcer", self.edges), **parts)

    async def look_up(self) -> int:
        """One worker looks up, announces and withdraws everything that is due."""
        return await self.verifier().process_due()

    async def new_person(self) -> Person:
        return await make_person(self.plane, self.anonymous)

    async def create_site(self, domain: str | None = None, client: Client | None = None) -> Site:
        """Creates a site and performs its job. Its domain is not looked up yet."""
        owner = client or await (await self.new_person()).key(expires_in_days=365)
        response = await request_site(owner, domain or new_domain())
        assert response.status_code == 202, response.text
        job = response.json()["data"]
        site = job["resource"]["site_id"]
        await self.driver.run_job(job["id"])
        env, subdomain, name = await self.row(
            "select e.id, e.subdomain, s.domain from environments e join sites s on s.id = e.site_id"
            " where s.id = $1",
            site,
        )
        return Site(site, name, env, subdomain, owner, job["id"])

    async def served_site(self, domain: str | None = None, client: Client | None = None) -> Site:
        """A site whose domain is verified and served."""
        site = await self.create_site(domain, client)
        await self.look_up()
        assert self.edges.environment_of(site.domain) == site.env
        return site

    async def delete(self, site: Site) -> None:
        deletion = await request_deletion(site.owner, site.id, site.domain)
        assert deletion.status_code == 202, deletion.text
        await self.driver.run_job(deletion.json()["data"]["id"])

    async def run(self, response: httpx.Response) -> dict[str, Any]:
        job = await _data(response, 202)
        await self.driver.run_job(job["id"])
        return job

    async def row(self, sql: str, *args: object) -> tuple[Any, ...]:
        async with self.plane.database.reading() as tx:
            found = await tx.one(lambda *columns: columns, sql, *args)
        assert found is not None
        return found

    async def certificate_requested(self, host: str) -> bool:
        (found,) = await self.row(
            "select exists (select from certificates where host = $1 and not forgotten)", host
        )
        return bool(found)

    async def events(self, site: Site) -> list[str]:
        return await self.driver.event_types(site.id)

    async def point(self, host: str, *addresses: str) -> None:
        await self._manage("add-a", host=f"{host}.", addresses=list(addresses))

    async def point_here(self, host: str) -> None:
        await self._manage("clear-a", host=f"{host}.")

    async def set_txt(self, name: str, value: str) -> None:
        await self._manage("set-txt", host=f"{name}.", value=value)

    async def prove(self, domain: dict[str, Any]) -> None:
        """Adds the record that the domain asks for."""
        await self.set_txt(domain["challenge"]["name"], domain["challenge"]["value"])

    async def break_dns(self, name: str) -> None:
        await self._manage("set-servfail", host=f"{name}.")

    async def _manage(self, action: str, **body: Any) -> None:
        async with httpx.AsyncClient(timeout=60.0) as client:
            (await client.post(f"{self.dns.management_url}/{action}", json=body)).raise_for_status()


@pytest.fixture(scope="package")
async def stack() -> AsyncIterator[RunningStack]:
    scratch = Path(tempfile.mkdtemp(prefix="stead-domains-"))
    try:
        async with run_stack(scratch, [LoopbackDns]) as stack:
            yield stack
    finally:
        shutil.rmtree(scratch)


@pytest.fixture(scope="package")
async def own_settings(settings: Settings, worker_id: str) -> AsyncIterator[Settings]:
    """A separate database, so that no other test has domains that are due."""
    async with spare_database(f"stead_domains_{worker_id}") as url:
        yield replace(
            settings,
            database_url=url,
            domain_verification="dns",
            preview_domain=PREVIEW,
            base_url="https://api.platform-tests.example",
            reserved_domains="reserved-tests.example, other-tests.example",
        )


@pytest.fixture
async def harness(own_settings: Settings, stack: RunningStack, clock: MovableClock) -> AsyncIterator[Harness]:
    plane = ControlPlane(own_settings, clock=clock)
    await plane.redis.start()
    async with plane.database.transaction() as tx:
        await tx.run(f"{UNLIMITED} on conflict do nothing")
        await tx.run("delete from domains")
        await record_node(tx, region=REGION)
    client = Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")
    yield Harness(plane, client, stack[LoopbackDns], clock)
    await plane.redis.close()
    await plane.database.close()
