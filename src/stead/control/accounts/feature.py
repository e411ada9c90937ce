"""Accounts, passwords and sessions."""

from functools import partial

from stead.control.accounts import closing, operations, password_resets, service
from stead.control.accounts.browser_pages import session_routes
from stead.control.feature import Feature
from stead.control.outbox import mail_limits
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    delete = partial(in_batches, worker.database, service.delete_old_sessions)
    release = partial(in_batches, worker.database, service.delete_unverified_accounts)
    forget = partial(in_batches, worker.database, mail_limits.delete_old_counts)
    answer = partial(password_resets.answer_requests, sealer=worker.sealer)
    tasks: list[Task] = [
        PeriodicTask("password_resets.answer", 1, partial(in_batches, worker.database, answer)),
        PeriodicTask("sessions.delete_old", 3600, delete),
        PeriodicTask("accounts.erase_closed", 3600, partial(closing.erase_all, worker.database)),
        PeriodicTask("mail.forget_counts", 3600, forget),
    ]
    if worker.settings.email_verification:
        tasks.append(PeriodicTask("accounts.delete_unverified", 3600, release))
    return tasks


FEATURE = Feature(
    name="accounts",
    operations=[operations.operation],
    resolvers=[service.visible_session],
    id_prefixes={"client_id": "client", "session_id": "sess"},
    tasks=_tasks,
    pages=session_routes,
)
