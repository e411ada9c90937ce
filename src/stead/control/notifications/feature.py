"""Notifications, in the app and by email."""

from collections.abc import Sequence
from functools import partial

from stead.control.feature import ApiServices, Feature
from stead.control.http.web import Route
from stead.control.notifications import operations, service
from stead.control.notifications.digests import DigestMailer
from stead.control.notifications.pages import unsubscribe_routes
from stead.control.outbox.mail import MailSender, measure
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import LongRunningTask, PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    settings, database = worker.settings, worker.database
    sender = MailSender(database, worker.sealer, smtp_url=settings.smtp_url, sender=settings.mail_from)
    digests = DigestMailer(database, worker.sealer, base_url=settings.base_url)
    delete_expired = partial(in_batches, database, service.delete_expired)
    return [
        LongRunningTask("mail.send", sender.run),
        PeriodicTask("notifications.digests", 5, digests.enqueue_due),
        PeriodicTask("notifications.delete_expired", 60, delete_expired),
    ]


def _pages(api: ApiServices) -> Sequence[Route]:
    return unsubscribe_routes(api.database, api.sealer)


FEATURE = Feature(
    name="notifications",
    operations=[operations.operation],
    tasks=_tasks,
    measure=measure,
    transports=[service.receive_events],
    pages=_pages,
    sealed_columns=[SealedColumn("outgoing_mail", "id", "sealed", str.encode)],
)
