"""Repositories: branch routes, hooks, polling, and what a push does."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from starlette.routing import Route

from stead.control.feature import ApiServices, Feature
from stead.control.git import events, operations, pushes
from stead.control.git.hooks import Hooks
from stead.control.git.poller import Poller
from stead.control.http.client_address import parse_networks
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches, in_transaction
from stead.control.webhooks.client import HttpsClient
from stead.shared.addresses import Guard


def _tasks(worker: WorkerServices) -> list[Task]:
    settings, database = worker.settings, worker.database
    client = HttpsClient(Guard(parse_networks(settings.git_allowed)))
    poller = Poller(database, client, settings.preview_domain, seconds=settings.git_poll_seconds)

    async def follow() -> None:
        await in_batches(database, pushes.follow_up)
        await in_transaction(database, pushes.greet_arrived)

    return [
        PeriodicTask("git.poll", min(5, settings.git_poll_seconds), poller.poll),
        PeriodicTask("git.follow", 1, follow),
        PeriodicTask("git.forget", 600, partial(in_batches, database, pushes.forget_deliveries)),
    ]


def _pages(api: ApiServices) -> Sequence[Route]:
    hooks = Hooks(
        api.database,
        api.limiter,
        api.authenticator,
        api.sealer,
        api.settings.preview_domain,
        docs_url=api.settings.docs,
        quiet=timedelta(seconds=api.settings.git_poll_seconds),
    )
    return hooks.routes()


FEATURE = Feature(
    name="git",
    operations=[operations.operation],
    tasks=_tasks,
    pages=_pages,
    events=[
        events.GIT_PUSH_RECEIVED,
        events.GIT_PUSH_SKIPPED,
        events.GIT_UNREACHABLE,
        events.SITE_BRANCH_ROUTES_CHANGED,
        events.SITE_HOOK_SECRET_ROLLED,
    ],
)
