"""An account whose webhooks go to host names whose name servers never answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from stead.control.engines.dns import Resolver
from stead.control.webhooks.delivery_worker import FAST_PER_ACCOUNT, SLOW_PER_ACCOUNT
from stead.dev.supervised_program import LOOPBACK
from tests.abuse.neighbour import Neighbour
from tests.control.outbox_fixtures import authority, outbox  # noqa: F401 - fixtures
from tests.control.webhooks.deliveries import DOMAIN
from tests.control.webhooks.name_server import NameServer
from tests.outbox import Outbox
from tests.patience import time_limit
from tests.people import Person
from tests.receiver import Receiver

ENDPOINTS = 50
NEIGHBOUR = "neighbour.test"

Figure = Callable[[str, str], None]


class SilentNameServer(NameServer):
    """Answers only for the neighbour, and counts the other queries."""

    ignored = 0

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if b"silent" in data.lower():
            self.ignored += 1
        else:
            super().datagram_received(data, address)


@asynccontextmanager
async def serving_names(address: str) -> AsyncIterator[tuple[Resolver, SilentNameServer]]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: SilentNameServer({NEIGHBOUR: [[address]]}), (LOOPBACK, 0)
    )
    try:
        yield Resolver(f"{LOOPBACK}:{transport.get_extra_info('sockname')[1]}"), server
    finally:
        transport.close()


@pytest.fixture
async def attacker(outbox: Outbox) -> Person:  # noqa: F811 - the fixture
    person = await outbox.person()
    for number in range(ENDPOINTS):
        await outbox.endpoint(person, f"https://h{number}.silent.test/hook", "site.restarted")
    return person


async def test_silent_name_servers_delay_no_deliveries_of_others(
    outbox: Outbox,  # noqa: F811 - the fixture
    attacker: Person,
    record_property: Figure,
):
    receiver, person = Receiver(), await outbox.person()
    await outbox.endpoint(person, f"https://{NEIGHBOUR}:{receiver.port}/hook", "site.restarted")

    async def receive_event() -> None:
        known = len(receiver.requests)
        await outbox.publish("site.restarted", account_id=person.id, data=DOMAIN)
        await outbox.number_events()
        async with time_limit(10):
            while len(receiver.requests) == known:  # noqa: ASYNC110 - the receiver has no event to wait for
                await asyncio.sleep(0.005)

    context = outbox.authority.server_context(NEIGHBOUR)
    async with receiver.open(context), serving_names(receiver.host) as (resolver, names):
        outbox.resolver = resolver
        worker = outbox.delivery_worker()
        running = asyncio.create_task(worker.run())
        neighbour = Neighbour(receive_event)
        try:
            await neighbour.live_alone(20)
            await outbox.publish("site.restarted", times=3, account_id=attacker.id, data=DOMAIN)
            await outbox.number_events()
            async with neighbour.living_beside():
                async with time_limit(30):
                    while names.ignored < 2 * FAST_PER_ACCOUNT:  # noqa: ASYNC110 - datagrams announce nothing
                        await asyncio.sleep(0.01)
                in_flight = worker._accounts[False][attacker.id], worker._accounts[True][attacker.id]
                await neighbour.send_at_least(60)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            outbox.resolver = Resolver()
    record_property("figure", neighbour.figure(f"{ENDPOINTS} webhooks with silent name servers"))
    assert in_flight[0] <= FAST_PER_ACCOUNT
    assert in_flight[1] <= SLOW_PER_ACCOUNT
