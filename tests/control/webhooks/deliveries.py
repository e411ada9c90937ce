"""Actions that several tests of deliveries need."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from stead.control.webhooks import service
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver

DOMAIN = {"domain": "example.com"}


async def publish_event(outbox: Outbox, person: Person, type_: str = "site.restarted", **about: Any) -> None:
    """Publish an event of the person's account, unless `about` names another owner."""
    await outbox.publish(type_, **(about or {"account_id": person.id}), data=DOMAIN)


async def replay(person: Person, endpoint: str, delivery: str) -> Any:
    return await person.session.post(f"/v1/webhook-endpoints/{endpoint}/deliveries/{delivery}/replay")


async def clean_up(outbox: Outbox) -> None:
    """Run the periodic task that ends deliveries to disabled and deleted endpoints."""
    changed = 1
    while changed:
        async with outbox.plane.database.transaction() as tx:
            changed = await service.clean_up(tx)


@asynccontextmanager
async def open_receivers(outbox: Outbox, receivers: Iterable[Receiver]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for each in receivers:
            await stack.enter_async_context(each.open(outbox.authority.server_context(each.host)))
        yield
