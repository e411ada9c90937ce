"""One user of a repository at a time: the jobs of a site, or its maintenance.

Maintenance takes the repository only while no job of the site is running, says every few seconds that it is
still at work, and stops at once when a job waits for the repository. What it does can be stopped at any time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import structlog

from stead.control.backups import maintenance_store as store
from stead.control.engines.postgres import DATABASE_FAILED, Database
from stead.shared.ids import new_id

log = structlog.get_logger()
T = TypeVar("T")

LEASE = timedelta(seconds=60)
RENEW_SECONDS = 5.0


class RepositoryInUse(Exception):
    """Somebody else uses the repository, or a job of the site is running."""


class RepositoryWanted(Exception):
    """The work was stopped, because a job waits for the repository or the lease was lost."""


async def run_alone(
    database: Database,
    site: str,
    work: Callable[[], Awaitable[T]],
    *,
    renew_seconds: float = RENEW_SECONDS,
) -> T:
    """Do something while nobody else uses the repository."""
    holder = new_id("lease")
    async with database.transaction() as tx:
        if not await store.hold(tx, site, holder, tx.now + LEASE):
            raise RepositoryInUse
    working = asyncio.ensure_future(work())
    try:
        renewed = asyncio.get_running_loop().time()
        while not working.done():
            await asyncio.wait({working}, timeout=renew_seconds)
            if working.done():
                break
            try:
                async with database.transaction() as tx:
                    if not await store.extend(tx, site, holder, tx.now + LEASE):
                        raise RepositoryWanted
                renewed = asyncio.get_running_loop().time()
            except DATABASE_FAILED:
                # restic must have ended before somebody else can take the repository.
                if asyncio.get_running_loop().time() - renewed > LEASE.total_seconds() / 2:
                    raise
        return working.result()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await _release(database, site, holder)


async def _release(database: Database, site: str, holder: str) -> None:
    try:
        async with database.transaction() as tx:
            await store.release(tx, site, holder)
    except DATABASE_FAILED as error:
        log.warning("backups.lease_not_released", site=site, reason=type(error).__name__)
