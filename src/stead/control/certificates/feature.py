"""Certificates: every live host gets one and keeps it."""

from functools import partial

from stead.control.certificates import events
from stead.control.certificates.certifier import AuthoritySettings, Certifier
from stead.control.certificates.feed_publisher import FeedPublisher, announce_records
from stead.control.certificates.preflight import Preflight
from stead.control.certificates.progress import account_context, key_context
from stead.control.edge_feed import announcements
from stead.control.edge_feed.announcer import Announcer
from stead.control.engines.postgres import Database
from stead.control.feature import Feature
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import Task, WorkerServices


def _tasks(worker: WorkerServices) -> list[Task]:
    """There are no tasks if no certificate authority is configured."""
    settings = worker.settings
    if not settings.acme_directory:
        return []
    certifier = Certifier(
        worker.database,
        worker.sealer,
        AuthoritySettings(
            settings.acme_directory,
            settings.acme_email,
            settings.acme_ca_file,
            settings.acme_orders_per_owner,
        ),
        preflight=Preflight(settings.edge_addresses, settings.dns_resolver),
        publisher=FeedPublisher(worker.announcer, settings.edge_master_key),
        refresh_site=partial(_announce_site, worker.database, worker.announcer),
    )
    return certifier.tasks()


async def _announce_site(database: Database, announcer: Announcer, site: str) -> None:
    """Publish a site's edge records again, because its certificate was issued or has expired."""
    async with database.transaction() as tx:
        announcement = await announcements.serve_site(tx, site)
    if announcement is not None:
        await announce_records(
            announcer, announcement.region, announcement.records, version=announcement.version
        )


FEATURE = Feature(
    name="certificates",
    tasks=_tasks,
    sealed_columns=[
        SealedColumn("acme_accounts", "directory", "sealed_key", account_context),
        SealedColumn("certificates", "host", "sealed_key", key_context),
        SealedColumn("certificates", "host", "order_key", key_context),
    ],
    events=[
        events.CERTIFICATE_ISSUED,
        events.CERTIFICATE_RENEWED,
        events.CERTIFICATE_FAILED,
        events.CERTIFICATE_EXPIRED,
    ],
)
