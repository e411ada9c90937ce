"""An installation that delivers events: API, sequencer, delivery worker and digest mailer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.engines.dns import Resolver
from stead.control.events.sequencer import Sequencer
from stead.control.http.client_address import parse_networks
from stead.control.notifications import service as notifications
from stead.control.notifications.digests import DigestMailer
from stead.control.outbox.events import About, publish
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from stead.control.webhooks import service as webhooks
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.delivery_worker import DeliveryWorker
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.address_policy import AddressPolicy
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.conftest import UNLIMITED
from tests.patience import time_limit
from tests.people import Person, make_person
from tests.teams import spare_database

LOOPBACK = "127.0.0.0/8"


@dataclass
class Outbox:
    plane: ControlPlane
    anonymous: Client
    authority: CertificateAuthority
    clock: MovableClock
    seconds: float = 15.0
    resolver: Resolver = field(default_factory=Resolver)
    _delivery_workers: list[DeliveryWorker] = field(default_factory=list)

    @property
    def sealer(self) -> Sealer:
        return Sealer.from_text(self.plane.settings.sealing_key)

    async def person(self) -> Person:
        return await make_person(self.plane, self.anonymous)

    async def publish(
        self, event: str, *, times: int = 1, data: dict[str, Any] | None = None, **about: Any
    ) -> None:
        async with self.plane.database.transaction() as tx:
            for _ in range(times):
                await publish(tx, self.plane.context.event_catalog[event], About(**about), **(data or {}))

    async def number_events(self) -> int:
        """Run the sequencer until no event is left."""
        transports = [webhooks.receive_events, notifications.receive_events]
        sequencer = Sequencer(
            self.plane.database, self.plane.listener, transports, self.plane.context.event_catalog
        )
        total = 0
        while processed := await sequencer.process_batch():
            total += processed
        return total

    def delivery_worker(self) -> DeliveryWorker:
        settings = self.plane.settings
        guard = AddressPolicy(parse_networks(settings.webhooks_allowed))
        client = HttpsClient(
            guard, context=self.authority.client_context(), seconds=self.seconds, resolver=self.resolver
        )
        worker = DeliveryWorker(
            self.plane.database, self.plane.listener, self.sealer, client, clock=self.clock
        )
        self._delivery_workers.append(worker)
        return worker

    async def deliver(self, worker: DeliveryWorker | None = None) -> None:
        """Number published events, and send deliveries until none is due."""
        worker = worker or self.delivery_worker()
        await self.number_events()
        async with time_limit(60):
            while await worker.send_due():
                await worker.wait_until_idle()

    def digest_mailer(self) -> DigestMailer:
        return DigestMailer(self.plane.database, self.sealer, base_url=self.plane.settings.base_url)

    async def value(self, sql: str, *args: object) -> Any:
        async with self.plane.database.reading() as tx:
            return await tx.value(sql, *args)

    async def run(self, sql: str, *args: object) -> int:
        async with self.plane.database.transaction() as tx:
            return await tx.run(sql, *args)

    async def endpoint(
        self, person: Person | Client, url: str, *event_types: str, **more: Any
    ) -> dict[str, Any]:
        client = person.session if isinstance(person, Person) else person
        body = {"url": url, "event_types": list(event_types) or ["*"], **more}
        made = await client.post("/v1/webhook-endpoints", json=body)
        assert made.status_code == 201, made.text
        return dict(made.json()["data"])

    async def deliveries(self, person: Person, endpoint: str) -> list[dict[str, Any]]:
        listed = await person.session.get(f"/v1/webhook-endpoints/{endpoint}/deliveries")
        assert listed.status_code == 200, listed.text
        return list(listed.json()["data"])


@asynccontextmanager
async def outbox_of(
    settings: Settings, name: str, authority: CertificateAuthority, clock: MovableClock
) -> AsyncIterator[Outbox]:
    async with spare_database(name) as url:
        plane = ControlPlane(replace(settings, database_url=url, webhook_networks=LOOPBACK), clock=clock)
        await plane.redis.start()
        plane.listener.start()
        async with plane.database.transaction() as tx:
            await tx.run(f"{UNLIMITED} on conflict do nothing")
        made = Outbox(
            plane,
            Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test"),
            authority,
            clock,
        )
        try:
            yield made
        finally:
            for worker in made._delivery_workers:
                await worker._client.close()
            await plane.listener.stop()
            await plane.redis.close()
            await plane.database.close()
