"""Domains: the names of environments, proved before they are served."""

from functools import partial

from stead.control.domains import events, operations, service, store, workflows
from stead.control.domains.proof import ProofChecker
from stead.control.domains.verifier import Verifier
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_transaction


def _tasks(worker: WorkerServices) -> list[Task]:
    settings = worker.settings
    checker = (
        ProofChecker(settings.edge_addresses, settings.dns_resolver) if settings.verify_domains else None
    )
    verifier = Verifier(worker.database, worker.announcer, checker, platform=settings.own_names)
    forget = partial(in_transaction, worker.database, store.remove_forgotten)
    return [*verifier.tasks(), PeriodicTask("domains.forget", 3600, forget)]


FEATURE = Feature(
    name="domains",
    operations=[operations.operation],
    resolvers=[service.visible_domain],
    id_prefixes={"domain_id": "dom"},
    workflows=[workflows.ATTACH, workflows.MAKE_PRIMARY],
    tasks=_tasks,
    events=[
        events.DOMAIN_ATTACHED,
        events.DOMAIN_ATTACH_FAILED,
        events.DOMAIN_DETACHED,
        events.DOMAIN_VERIFIED,
        events.DOMAIN_FAILED,
        events.DOMAIN_PRIMARY_CHANGED,
    ],
)
