"""What operators see of backups, on a terminal and in metrics."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta

from stead.control import metrics
from stead.control.backups import schedule_store, status_store
from stead.control.backups.recovery import NoSecondStore, RecoveredSite, Recovery
from stead.control.backups.schedule import OVERDUE_AFTER
from stead.control.backups.status_store import Findings
from stead.control.engines.postgres import Database, Tx
from stead.control.sealing import Sealer
from stead.control.settings import Settings, from_environment, object_store_of, second_store_of
from stead.shared.clock import wall_clock

SHOWN = 100
REASON_LENGTH = 300
COPIED_AFTER = timedelta(hours=24)
"""Snapshots are copied within minutes."""
MAINTAINED_AFTER = timedelta(days=3)
"""Repositories are maintained every day."""


async def describe_backups() -> tuple[str, bool]:
    """The state of all backups, and whether an operator must look at something."""
    settings = from_environment()
    async with _database(settings) as database, database.reading() as tx:
        return await describe(tx, has_second_store=bool(settings.offsite_s3_endpoint))


async def describe(tx: Tx, *, has_second_store: bool) -> tuple[str, bool]:
    late_before = tx.now - OVERDUE_AFTER
    counts = await schedule_store.count(tx, late_before)
    lines = [
        f"{counts.sites} sites: the last backup of {counts.succeeded} succeeded, of {counts.failed} failed;"
        f" {counts.never} had none yet; {counts.overdue} are overdue"
    ]
    troubled = await schedule_store.list_troubled(tx, late_before, limit=SHOWN)
    if troubled:
        lines.append(f"{'site':31} {'domain':40} {'without since':16} reason")
    for site in troubled:
        since = f"{site.since:%Y-%m-%d %H:%M}"
        lines.append(f"{site.site_id:31} {site.domain:40} {since} {site.reason or 'none was attempted'}")
    problems = await status_store.list_problems(tx, limit=SHOWN)
    lines += _describe(problems, "repositories are suspicious or damaged", "site", "intact at")
    unmaintained = await status_store.list_unmaintained(tx, tx.now - MAINTAINED_AFTER, limit=SHOWN)
    lines += _describe(unmaintained, "repositories were not maintained for 3 days", "site", "since")
    uncopied = Findings(0, [])
    if has_second_store:
        uncopied = await status_store.list_uncopied(tx, tx.now - COPIED_AFTER, limit=SHOWN)
        lines += _describe(uncopied, "snapshots wait for the second store", "snapshot", "since")
    return "\n".join(lines), any((counts.overdue, problems.count, unmaintained.count, uncopied.count))


def _describe(findings: Findings, meaning: str, subject: str, since: str) -> list[str]:
    if not findings.count:
        return []
    shown = len(findings.listed)
    rest = f" (the first {shown} are listed)" if shown < findings.count else ""
    return [
        "",
        f"{findings.count} {meaning}{rest}",
        f"{subject:31} {since:16} reason",
        *(
            f"{each.subject:31} {each.since:%Y-%m-%d %H:%M} {_to_line(each.reason)}"
            for each in findings.listed
        ),
    ]


def _to_line(text: str) -> str:
    """A hostile node can influence what restic says."""
    return "".join(each if each.isprintable() else " " for each in text)[:REASON_LENGTH]


async def measure(tx: Tx, *, has_second_store: bool) -> None:
    overdue = (await schedule_store.count(tx, tx.now - OVERDUE_AFTER)).overdue
    metrics.backups_overdue.set(overdue)
    metrics.backups_with_problem.set((await status_store.list_problems(tx, limit=1)).count)
    unmaintained = await status_store.list_unmaintained(tx, tx.now - MAINTAINED_AFTER, limit=1)
    metrics.backups_unmaintained.set(unmaintained.count)
    waiting = (await status_store.list_uncopied(tx, tx.now, limit=1)).listed if has_second_store else []
    age = (tx.now - waiting[0].since).total_seconds() if waiting else 0.0
    metrics.backups_oldest_uncopied.set(age)


async def recover_first_store(say: Callable[[str], None]) -> bool:
    """Returns whether every site was recovered. Raises NoSecondStore."""
    settings = from_environment()
    second = second_store_of(settings)
    if second is None:
        raise NoSecondStore("STEAD_OFFSITE_S3_ENDPOINT is not set, so there is no second store")
    async with _database(settings) as database:
        sealer, first = Sealer.from_text(settings.sealing_key), object_store_of(settings)
        recovery = Recovery(database, sealer, first, second)
        say(f"{await recovery.recover_releases()} releases were copied")
        async with aclosing(recovery.recover_all()) as sites:
            return await report_recovery(sites, say)


async def report_recovery(sites: AsyncIterator[RecoveredSite], say: Callable[[str], None]) -> bool:
    is_complete = True
    say(f"{'site':31} {'files':>8} {'bytes':>14} {'seconds':>8} {'snapshots':>9} {'lost':>5}")
    async for each in sites:
        line = f"{each.site:31} {each.files:>8} {each.bytes:>14} {each.seconds:>8.1f}"
        say(f"{line} {each.snapshots:>9} {each.lost:>5} {_to_line(each.problem or '')}".rstrip())
        is_complete = is_complete and each.problem is None
    return is_complete


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[Database]:
    database = Database(settings.database_url, clock=wall_clock)
    try:
        yield database
    finally:
        await database.close()
