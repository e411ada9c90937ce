"""A real certificate authority with its DNS, a real nginx, and a separate control plane."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.certificates import service
from stead.control.certificates.certifier import AuthoritySettings, Certifier
from stead.control.certificates.preflight import Preflight
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from stead.dev.engines.dns import LoopbackDns
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.pebble import Pebble
from stead.dev.engines.powerdns import PowerDns
from stead.dev.engines.resolver import Resolver
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import LOOPBACK
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.conftest import UNLIMITED
from tests.control.certificates.acme_proxy import AcmeProxy
from tests.control.certificates.file_publisher import FilePublisher
from tests.people import make_person
from tests.teams import insert_site, spare_database

REGION = "us-east"


@pytest.fixture(scope="package")
def scratch() -> Iterator[Path]:
    """A directory that nginx's user can enter."""
    path = Path(tempfile.mkdtemp(prefix="stead-certificates-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="package")
async def stack(scratch: Path) -> AsyncIterator[RunningStack]:
    async with run_stack(scratch, [Pebble, Resolver, LoopbackDns, PowerDns, Nginx]) as stack:
        yield stack


@pytest.fixture(scope="package")
async def own_database(settings: Settings, worker_id: str) -> AsyncIterator[Settings]:
    """A separate database, in which no other worker processes certificates."""
    async with spare_database(f"stead_certificates_{worker_id}") as url:
        yield replace(settings, database_url=url)


@dataclass
class Site:
    id: str
    domain: str
    reader: Client
    """Its key is valid for longer than a certificate."""

    async def tls(self) -> dict[str, Any]:
        answer = await self.reader.get(f"/v1/sites/{self.id}/tls")
        assert answer.status_code == 200, answer.text
        return dict(answer.json()["data"])


@dataclass
class Harness:
    plane: ControlPlane
    anonymous: Client
    stack: RunningStack
    publisher: FilePublisher
    clock: MovableClock
    refreshed: list[str] = field(default_factory=list)

    def certifier(self, directory: str = "", **changed: Any) -> Certifier:
        """A certifier as in a worker; `changed` replaces parts of it."""
        trust = changed.pop("trust", self.stack[Pebble].server_certificate)
        authority = AuthoritySettings(
            directory or self.stack[Pebble].directory,
            "you@stead.example",
            str(trust),
            changed.pop("orders_per_owner", 0),
        )
        parts: dict[str, Any] = {
            "preflight": Preflight(LOOPBACK, self.stack[LoopbackDns].address),
            "publisher": self.publisher,
            "refresh_site": self._refresh,
            **changed,
        }
        sealer = Sealer.from_text(self.plane.settings.sealing_key)
        return Certifier(self.plane.database, sealer, authority, **parts)

    async def _refresh(self, site: str) -> None:
        self.refreshed.append(site)

    async def create_site(self, *, requested: bool = True) -> Site:
        owner = await make_person(self.plane, self.anonymous)
        async with self.plane.database.transaction() as tx:
            id_ = await insert_site(tx, account=owner.id)
            domain = await tx.value("select domain from sites where id = $1", id_)
            if requested:
                await service.request_certificate(tx, id_, domain, REGION)
        return Site(id_, domain, await owner.key("tls:read", expires_in_days=365))

    async def row(self, host: str) -> dict[str, Any]:
        async with self.plane.database.reading() as tx:
            found = await tx.value("select to_jsonb(c) from certificates c where host = $1", host)
        return dict(found or {})

    async def seconds_until_due(self, host: str) -> float:
        """Seconds until the next attempt."""
        async with self.plane.database.reading() as tx:
            at = await tx.value("select next_attempt_at from certificates where host = $1", host)
            return float((at - tx.now).total_seconds())

    async def events(self, site: Site) -> list[str]:
        async with self.plane.database.reading() as tx:
            return await tx.all(str, "select type from events where site_id = $1 order by id", site.id)

    async def point(self, host: str, *addresses: str, kind: str = "a") -> None:
        """Set the addresses of a host in the DNS."""
        await self.manage_dns(f"add-{kind}", host=f"{host}.", addresses=list(addresses))

    async def manage_dns(self, action: str, **body: Any) -> None:
        async with httpx.AsyncClient(timeout=60.0) as client:
            (
                await client.post(f"{self.stack[LoopbackDns].management_url}/{action}", json=body)
            ).raise_for_status()


@pytest.fixture
async def harness(own_database: Settings, stack: RunningStack, clock: MovableClock) -> AsyncIterator[Harness]:
    plane = ControlPlane(own_database, clock=clock)
    await plane.redis.start()
    async with plane.database.transaction() as tx:
        await tx.run(f"{UNLIMITED} on conflict do nothing")
        for table in ("certificates", "acme_accounts"):
            await tx.run(f"delete from {table}")
    client = Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")
    yield Harness(plane, client, stack, FilePublisher(stack.node_data), clock)
    await plane.redis.close()
    await plane.database.close()


@pytest.fixture
async def proxy(stack: RunningStack) -> AsyncIterator[AcmeProxy]:
    async with AcmeProxy(stack[Pebble]).open() as proxy:
        yield proxy
