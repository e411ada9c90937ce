"""Notifications, in the app and by mail."""

from collections.abc import Sequence
from functools import partial

from starlette.routing import Route

from stead.control.feature import ApiServices, Feature
from stead.control.notifications import operations, service
from stead.control.notifications.mailing import Mailing
from stead.control.notifications.pages import unsubscribe_routes
from stead.control.outbox.mail import Postman
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    settings, database = worker.settings, worker.database
    postman = Postman(database, worker.sealer, smtp_url=settings.smtp_url, sender=settings.mail_from)
    mailing = Mailing(database, worker.sealer, base_url=settings.base_url)
    return [
        PeriodicTask("mail.deliver", 1, postman.deliver),
        PeriodicTask("notifications.mail", 5, mailing.post_due),
        PeriodicTask("notifications.forget", 60, partial(in_batches, database, service.forget_old)),
    ]


def _pages(api: ApiServices) -> Sequence[Route]:
    return unsubscribe_routes(api.database, api.sealer)


FEATURE = Feature(
    name="notifications",
    operations=[operations.operation],
    tasks=_tasks,
    transports=[service.take_over],
    pages=_pages,
)
