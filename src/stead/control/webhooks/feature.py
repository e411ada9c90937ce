"""Webhook endpoints and their deliveries."""

from functools import partial

from stead.control.feature import Feature
from stead.control.http.client_address import parse_networks
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import (
    LongRunningTask,
    PeriodicTask,
    Task,
    WorkerServices,
    in_batches,
)
from stead.control.webhooks import events, operations, service
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.delivery_worker import DeliveryWorker
from stead.shared.address_policy import AddressPolicy


def _tasks(worker: WorkerServices) -> list[Task]:
    client = HttpsClient(AddressPolicy(parse_networks(worker.settings.webhooks_allowed)))
    deliveries = DeliveryWorker(
        worker.database, worker.listener, worker.sealer, client, clock=worker.database.now
    )
    return [
        LongRunningTask("webhooks.deliver", deliveries.run),
        PeriodicTask("webhooks.clean_up", 5, partial(in_batches, worker.database, service.clean_up)),
    ]


FEATURE = Feature(
    name="webhooks",
    operations=[operations.operation],
    resolvers=[service.visible_endpoint, service.visible_delivery],
    id_prefixes={"endpoint_id": "whe", "delivery_id": "whd"},
    tasks=_tasks,
    measure=service.measure,
    sealed_columns=[
        SealedColumn("webhook_endpoints", "id", "secret", service.secret_context),
        SealedColumn("webhook_endpoints", "id", "previous_secret", service.secret_context),
    ],
    transports=[service.receive_events],
    events=[
        events.WEBHOOK_ENDPOINT_CREATED,
        events.WEBHOOK_ENDPOINT_CHANGED,
        events.WEBHOOK_ENDPOINT_ROLLED,
        events.WEBHOOK_ENDPOINT_DELETED,
        events.WEBHOOK_ENDPOINT_DISABLED,
        events.WEBHOOK_PING,
    ],
)
