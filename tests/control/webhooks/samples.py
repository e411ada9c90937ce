"""Sample webhook endpoints and deliveries for the suites that cover every operation."""

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Mode
from stead.control.webhooks.rules import DeliveryNotFound, EndpointNotFound, VisibleDelivery, VisibleEndpoint
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_own
from tests.matrix.world import Flavour, Thing, World
from tests.people import Person
from tests.teams import insert_delivery, insert_endpoint, insert_event


async def _endpoint(person: Person, _made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_endpoint(tx, person.id)


async def _delivery(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        event = await insert_event(tx, account=person.id)
        return await insert_delivery(tx, made["endpoint_id"], event)


async def _make_things(tx: Tx, world: World) -> None:
    account = world.subject.id
    flavours: list[tuple[Flavour, Mode]] = [("personal", "live"), ("test", "test")]
    for flavour, mode in flavours:
        endpoint = await insert_endpoint(tx, account, mode=mode)
        delivery = await insert_delivery(tx, endpoint, await insert_event(tx, account=account))
        world.add(flavour, Thing(VisibleEndpoint, endpoint, account=account, mode=mode))
        world.add(flavour, Thing(VisibleDelivery, delivery, account=account, mode=mode))


SAMPLES = Samples(
    path_makers={"endpoint_id": _endpoint, "delivery_id": _delivery},
    visibility={VisibleEndpoint: (sees_own, EndpointNotFound), VisibleDelivery: (sees_own, DeliveryNotFound)},
    make_things=_make_things,
    silent_operations={"webhook_deliveries.replay": "the delivery itself is the effect"},
    path_ids={
        "endpoint_id": lambda asking: asking.world.thing(VisibleEndpoint, asking.own).id,
        "delivery_id": lambda asking: asking.world.thing(VisibleDelivery, asking.own).id,
    },
)
