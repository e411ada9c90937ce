"""The repository of a site: created by the first snapshot, and opened for one job of a node at a time."""

import asyncio
import base64
import secrets
from datetime import datetime, timedelta

import structlog

from stead.control.backups import closing, maintenance_store, offsite, store
from stead.control.backups.repository_rules import choose_moment
from stead.control.backups.rules import BackupPasswordWrong, BackupStoreUnavailable
from stead.control.engines.object_store import ObjectStoreUnavailable
from stead.control.engines.postgres import Tx
from stead.control.engines.restic import PasswordWrong, ResticFailed, ResticRepository
from stead.control.jobs.definition import NotYet, Refused, WorkerContext
from stead.control.jobs.repository_access import (
    RepositoryGateway,
    describe_access,
    repository_password_context,
)
from stead.control.wordpress import service as wordpress
from stead.protocol.work.snapshots import RepositoryAccess
from stead.shared.repository_tokens import Access

log = structlog.get_logger()

MB = 1_000_000
_PASSWORD_BYTES = 32
_CREATION_SECONDS, _CLAIMED_FOR = 60.0, timedelta(seconds=75)
"""Creating a repository ends before another worker may try it."""
_MEASURING_SECONDS = 60.0
_SPARE_MB = 64
"""What a repository may need besides the content of a site."""


async def build_access(
    tx: Tx, site: str, access: Access, *, stored_at: datetime | None = None
) -> RepositoryAccess:
    """How a node reaches the repository. The password is opened and the token signed when the command is
    sent. A test site has no repository. To read a snapshot, say when it was stored: files that came later
    are hidden, because a hostile node may have added them."""
    found = await store.find_repository(tx, site)
    if found is None:
        return RepositoryAccess("", "")
    password, _ = found
    added = await get_allowance(tx, site) if access == "append" else 0
    as_of = choose_moment(stored_at, await maintenance_store.find_rewriting(tx, site))
    return RepositoryAccess(describe_access(access, added, as_of), base64.b64encode(password).decode())


async def get_allowance(tx: Tx, site: str) -> int:
    """How many bytes one job may add to the repository."""
    return (await wordpress.get_promised_mb(tx, site) + _SPARE_MB) * MB


async def ensure_repository(context: WorkerContext, site: str) -> None:
    """Create the repository if the site has none, and wait until no maintenance uses it. Only one worker
    creates it at a time."""
    gateway = context.repositories
    if gateway is None:
        raise Refused(BackupStoreUnavailable.code, "The installation has no backups.")
    sealing = repository_password_context(site)
    new_password = context.sealer.seal(secrets.token_urlsafe(_PASSWORD_BYTES).encode(), context=sealing)
    async with context.database.transaction() as tx:
        await store.insert_repository(tx, site, new_password)
        state = await maintenance_store.lock(tx, site)
        is_held = state is not None and state.is_held
        if is_held:
            # Maintenance stops in a few seconds.
            await maintenance_store.ask_for(tx, site)
        elif state is not None and state.is_initialized and not state.is_closed:
            return
        until = tx.now + _CLAIMED_FOR
        is_closed = not is_held and state is not None and state.is_closed
        password = None if is_held or is_closed else await store.claim_initialization(tx, site, until=until)
    if is_closed:
        await _reopen(context, gateway, site)
        return
    if password is None:
        raise NotYet
    opened = context.sealer.open(password, context=sealing).decode()
    try:
        async with asyncio.timeout(_CREATION_SECONDS):
            await ResticRepository(gateway.store, site, opened).create()
    except PasswordWrong:
        raise Refused(BackupPasswordWrong.code, BackupPasswordWrong.message) from None
    except (ResticFailed, ObjectStoreUnavailable, TimeoutError) as error:
        log.warning("backups.repository_not_created", site=site, error=type(error).__name__)
        await _release(context, site)
        raise Refused(BackupStoreUnavailable.code, BackupStoreUnavailable.message) from None
    async with context.database.transaction() as tx:
        await store.mark_initialized(tx, site)


async def measure_unfinished(context: WorkerContext, site: str) -> None:
    """Count what uploads have left that did not end: otherwise somebody could fill the store with backups
    that are cancelled. Those that ended were counted when they did."""
    if context.repositories is None:
        return
    async with context.database.reading() as tx:
        if not await store.has_unfinished_upload(tx, site):
            return
    try:
        async with asyncio.timeout(_MEASURING_SECONDS):
            files = await offsite.list_files(context.repositories.store.objects(), site)
    except (ObjectStoreUnavailable, TimeoutError):
        raise Refused(BackupStoreUnavailable.code, BackupStoreUnavailable.message) from None
    async with context.database.transaction() as tx:
        await store.set_stored_bytes(tx, site, sum(files.values()))


async def _reopen(context: WorkerContext, gateway: RepositoryGateway, site: str) -> None:
    """The maintenance that has closed it was killed."""
    try:
        await closing.reopen(context.database, gateway.store.objects(), site)
    except ObjectStoreUnavailable:
        raise Refused(BackupStoreUnavailable.code, BackupStoreUnavailable.message) from None


async def _release(context: WorkerContext, site: str) -> None:
    async with context.database.transaction() as tx:
        await store.release_initialization(tx, site)
