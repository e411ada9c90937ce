"""Git: branch routes, hooks, polling, and builds of what is pushed."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from stead.control.feature import ApiServices, Feature
from stead.control.git import deliveries, events, operations, push_builds, service
from stead.control.git.deliveries import DeliveryHandler
from stead.control.git.forge_reports import Reporter
from stead.control.git.hooks import HookEndpoint
from stead.control.git.poller import FETCH_SECONDS, Poller
from stead.control.http.client_address import parse_networks
from stead.control.http.web import Route
from stead.control.jobs.presigning import deploy_key_context
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches, in_transaction
from stead.control.webhooks.client import HttpsClient
from stead.shared.address_policy import AddressPolicy


def _tasks(worker: WorkerServices) -> list[Task]:
    settings, database = worker.settings, worker.database
    client = HttpsClient(AddressPolicy(parse_networks(settings.git_allowed)), seconds=FETCH_SECONDS)
    poller = Poller(
        database,
        client,
        settings.preview_domain,
        seconds=settings.git_poll_seconds,
        extra_ports=settings.extra_git_ports,
    )
    reporter = Reporter(database, client, worker.sealer, extra_ports=settings.extra_git_ports)

    async def follow_up() -> None:
        await in_batches(database, push_builds.follow_up_build)
        await in_transaction(database, push_builds.finish_first_pushes)

    return [
        PeriodicTask("git.poll", min(5, settings.git_poll_seconds), poller.poll),
        PeriodicTask("git.follow", 1, follow_up),
        PeriodicTask("git.report", 2, reporter.run),
        PeriodicTask("git.forget", 600, partial(in_batches, database, deliveries.delete_old_deliveries)),
    ]


def _pages(api: ApiServices) -> Sequence[Route]:
    handler = DeliveryHandler(
        api.database,
        api.settings.preview_domain,
        poll_pause=timedelta(seconds=api.settings.git_poll_seconds),
    )
    endpoint = HookEndpoint(
        api.database, api.limiter, api.authenticator, api.sealer, handler, docs_url=api.settings.docs
    )
    return endpoint.routes()


FEATURE = Feature(
    name="git",
    operations=[operations.operation],
    tasks=_tasks,
    pages=_pages,
    sealed_columns=[
        SealedColumn("git_connections", "site_id", "hook_secret", service.hook_secret_context),
        SealedColumn("git_connections", "site_id", "deploy_private", deploy_key_context),
        SealedColumn("git_connections", "site_id", "forge_token", service.forge_token_context),
    ],
    events=[
        events.GIT_PUSH_RECEIVED,
        events.GIT_PUSH_SKIPPED,
        events.GIT_UNREACHABLE,
        events.SITE_BRANCH_ROUTES_CHANGED,
        events.SITE_HOOK_SECRET_ROLLED,
    ],
)
