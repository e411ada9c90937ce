"""Commands for malware in WordPress environments: scanning them, and moving files to the store and back."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

import msgspec

from stead.mariadb.connection import StatementFailed
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.containers.disks import Disks
from stead.node.containers.limits import MB
from stead.node.databases.node_databases import NodeDatabases
from stead.node.databases.site_queries import SiteQueries
from stead.node.disk_space import DiskSpace
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.fair_places import FairPlaces
from stead.node.scanning.database_checks import Baseline, DatabaseReport, check_database
from stead.node.scanning.findings import FileFinding, FileReport, Root
from stead.node.scanning.inventory import list_components, list_loaded_files
from stead.node.scanning.main_files import MainFiles
from stead.node.scanning.quarantine import FileGone, Quarantine, Quarantined, QuarantineFailed
from stead.node.scanning.release_checksums import ReleaseChecksums
from stead.node.scanning.scanner import SECONDS, THREADS, Engines, KnownFiles, Scanner
from stead.node.scanning.scanner_channel import EngineFailed
from stead.node.scanning.site_scan import INDEX_BYTES, ScanStopped, SiteScan
from stead.node.uninterrupted import run_in_pool, run_in_thread, run_uninterrupted
from stead.node.wordpress import files
from stead.node.wordpress.environments import Environments
from stead.node.wordpress.paths import CONTENT, CORE
from stead.node.wordpress.plan import WordPress, WordPressPlan
from stead.node.wordpress.release_layout import UPLOADS, read_layout
from stead.protocol.work.scanning import (
    Component,
    Finding,
    QuarantineFiles,
    QuarantineOutcome,
    QuarantineReport,
    RestoreFile,
    ScanEnvironment,
    ScanReport,
)

PLACES, PER_TENANT = 2, 1
"""How many scans that customers ask for run at the same time on a node, and how many of those for one
tenant."""
SCHEDULED_PLACES = 1
"""How many of the platform, besides."""
MOVING_PLACES = 2
"""How many environments have files moved at the same time."""
ENGINE_FAILED, QUARANTINE_FAILED = "scan.engine_failed", "quarantine.failed"
MAX_FINDINGS_BYTES, MAX_COMPONENTS_BYTES, MAX_FAILURE = 350_000, 200_000, 300
"""A report must fit into a message, with whatever names customers choose."""
MAX_HELD = 2000
CONTENT_PATH = "wp-content"
MAX_NEW_FILES = 50
INDEX_PART = 16
"""The index may use this part of what the site's disk has."""


P = ParamSpec("P")
T = TypeVar("T")


class ScanCommands:
    def __init__(
        self,
        home: Path,
        environments: Environments,
        databases: NodeDatabases,
        disks: Disks,
        scanner: Scanner,
        queries: SiteQueries,
        space: DiskSpace,
    ) -> None:
        """`home` is the directory for what scans need on this node."""
        self._home, self._environments, self._databases = home, environments, databases
        self._disks, self._scanner, self._queries, self._space = disks, scanner, queries, space
        self._known = KnownFiles(home)
        self.checksums = ReleaseChecksums(home / "releases", layout.releases(environments.data))
        self._places = FairPlaces(PLACES, PER_TENANT)
        self._scheduled_places = FairPlaces(SCHEDULED_PLACES, PER_TENANT)
        self._moving_places = FairPlaces(MOVING_PLACES, PER_TENANT)

    async def scan(self, task: Assignment, work: ScanEnvironment) -> ScanReport:
        """Visitors are served meanwhile."""
        name = layout.check_identifier(task.environment)
        plan = await self._get_plan(task)
        places = self._scheduled_places if work.scheduled else self._places
        async with places.take(plan.tenant):
            began = time.monotonic()
            await files.mount(plan.paths, self._disks)
            place = self._place(name)
            await run_in_thread(place.mkdir, 0o700, parents=True, exist_ok=True)
            try:
                engines, report = await self._scan_files(plan, place, work)
                rows = await self._scan_rows(plan, place, work)
            except EngineFailed as failure:
                raise Refusal(ENGINE_FAILED, f"the scan was stopped: {failure}") from None
            except (StatementFailed, ServerUnavailable) as failure:
                raise Refusal(ENGINE_FAILED, f"the database could not be scanned: {failure}") from None
            components = await _run(list_components, _code(plan), plan.core / CORE)
            held = await _run(self._quarantine(plan).list_held)
            marked = await _run(_mark_main_files, _main_files(plan, rows.active), report.findings)
        found = [*marked, *rows.findings]
        sent, omitted = _fit(found)
        await task.output.say(
            f"scan: {report.files} files, {report.scanned} scanned, {report.unchanged} unchanged or known,"
            f" {report.without_result} without a result, {len(found) + report.omitted} infected"
        )
        failures = (*rows.failures, *(_shorten(path, reason) for path, reason in report.failed))
        return ScanReport(
            findings=sent,
            components=_fit_components(components),
            held=held[:MAX_HELD],
            files=report.files,
            scanned=report.scanned,
            unchanged=report.unchanged,
            failed=report.without_result + len(rows.failures),
            failures=failures[:20],
            omitted=report.omitted + omitted,
            unfinished=report.unfinished,
            bytes=report.bytes,
            milliseconds=int((time.monotonic() - began) * 1000),
            clamd=engines.clamd,
            rules=engines.rules,
        )

    async def quarantine(self, task: Assignment, work: QuarantineFiles) -> QuarantineReport:
        plan = await self._get_plan(task)
        await files.mount(plan.paths, self._disks)
        store, known = self._quarantine(plan), _main_files(plan, None)
        outcomes = []
        async with self._moving_places.take(plan.tenant):
            for item in work.items:
                wanted = Quarantined(item.detection, item.path, item.sha256, item.signature, work.scan)
                try:
                    good = await _run(known.find_good, item.path)
                    await _run(store.isolate, wanted, good)
                    outcomes.append(
                        QuarantineOutcome(item.detection, "quarantined", replaced=good is not None)
                    )
                    await task.output.say(f"quarantine: {item.path} was moved to the store")
                except FileGone as gone:
                    outcomes.append(QuarantineOutcome(item.detection, "gone", str(gone)))
                except QuarantineFailed as failed:
                    outcomes.append(QuarantineOutcome(item.detection, "failed", str(failed)))
                    await task.output.say(f"quarantine: {item.path} was not moved: {failed}")
        return QuarantineReport(tuple(outcomes))

    async def restore(self, task: Assignment, work: RestoreFile) -> None:
        plan = await self._get_plan(task)
        await files.mount(plan.paths, self._disks)
        try:
            async with self._moving_places.take(plan.tenant):
                restored = await _run(self._quarantine(plan).restore, work.detection, work.path)
        except QuarantineFailed as failed:
            raise Refusal(QUARANTINE_FAILED, f"the file was not restored: {failed}") from None
        await task.output.say(f"quarantine: {restored.path} was restored")

    async def _scan_files(
        self, plan: WordPressPlan, place: Path, work: ScanEnvironment
    ) -> tuple[Engines, FileReport]:
        known = place / "known"
        image = (plan.desired.spec.core_image, (plan.core / CORE, plan.core / CONTENT))
        await run_in_thread(self._known.write, known, [image], work.ignored)
        roots = await _run(self._list_roots, plan)
        room = plan.desired.spec.settings.disk_mb * MB // INDEX_PART
        async with self._scanner.open(known, SECONDS) as (channel, engines):
            scan = SiteScan(
                *(channel, roots, place / "index", engines.version),
                full=work.full,
                seconds=SECONDS,
                index_bytes=0 if self._space.is_short else min(INDEX_BYTES, room),
            )
            return engines, await _run_stoppable(scan)

    async def _scan_rows(self, plan: WordPressPlan, place: Path, work: ScanEnvironment) -> DatabaseReport:
        await self._databases.wait_until_ready()
        own = {urlsplit(plan.desired.spec.settings.url).hostname or "", *work.hosts}
        file = place / "database.json"
        baseline = await run_in_thread(_read_baseline, file)
        read = partial(self._queries.pass_on, plan.database)
        rows = await _run(check_database, read, frozenset(own), baseline)
        found, seen = rows.findings, rows.baseline
        ignored = set(work.ignored)
        # A new administrator is reported until its owner has looked at it.
        kept = baseline.administrators if baseline else seen.administrators
        reported = [each for each in found if each.signature == "database_new_administrator"]
        accepted = [each.path.partition("/")[2] for each in reported if each.sha256 in ignored]
        loaded, new = await _run(_find_loaded, plan, baseline, ignored)
        merged = Baseline((*(each for each in seen.administrators if each in {*kept, *accepted}),), loaded)
        await run_in_thread(layout.write_file, file, msgspec.json.encode(merged), mode=0o600)
        kept_findings = [*(each for each in found if each.sha256 not in ignored), *new]
        return rows._replace(findings=kept_findings)

    async def _get_plan(self, task: Assignment) -> WordPressPlan:
        async with self._environments.use(task) as name:
            desired: WordPress | None = self._environments.state.find(name)
            if desired is None or desired.spec.state != "installed":
                raise Refusal("environment.not_found", "the environment is not on this node")
            return self._environments.plan(desired)

    def _quarantine(self, plan: WordPressPlan) -> Quarantine:
        store = self._place(plan.paths.environment) / "quarantine"
        return Quarantine(
            store, plan.paths.content, plan.paths.quarantine, is_short=lambda: self._space.is_short
        )

    def _list_roots(self, plan: WordPressPlan) -> list[Root]:
        """WordPress itself is an image that no site can change. Blocks."""
        if not plan.desired.spec.settings.git_managed:
            return [Root(plan.paths.content, CONTENT_PATH)]
        uploads = Root(plan.paths.uploads, f"{CONTENT_PATH}/{UPLOADS}")
        if plan.release is None:
            return [uploads]
        folder = read_layout(plan.release).content
        expected = self.checksums.read(plan.release.name, folder)
        return [uploads, Root(plan.release / folder, CONTENT_PATH, movable=False, expected=expected)]

    def _place(self, environment: str) -> Path:
        return self._home / environment

    def remove(self, environment: str) -> None:
        """Blocks."""
        place = self._place(environment)
        for path in sorted(place.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        if place.exists():
            place.rmdir()


async def _run_stoppable(scan: SiteScan) -> FileReport:
    """A thread cannot be cancelled, so it is asked to end."""
    running = asyncio.ensure_future(_run(scan.run))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        scan.stop()
        with suppress(ScanStopped, EngineFailed):
            await run_uninterrupted(_wait_for(running))
        raise


async def _wait_for(running: "asyncio.Future[FileReport]") -> FileReport:
    return await running


async def _run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In threads of scans: customers can make it slow."""
    return await run_in_pool(THREADS, work, *args, **kwargs)


def _main_files(plan: WordPressPlan, active: frozenset[str] | None) -> MainFiles:
    return MainFiles(plan.paths.content, plan.core / CONTENT, plan.core / CORE, active)


def _code(plan: WordPressPlan) -> Path:
    if plan.desired.spec.settings.git_managed and plan.release is not None:
        return plan.release / read_layout(plan.release).content
    return plan.paths.content


def _find_loaded(
    plan: WordPressPlan, baseline: Baseline | None, ignored: set[str]
) -> tuple[tuple[str, ...] | None, list[FileFinding]]:
    """Drop-ins and must-use plugins that the owner knows, and those that are new. The code of a release comes
    from its repository."""
    if plan.desired.spec.settings.git_managed:
        return None, []
    files_ = list_loaded_files(plan.paths.content)
    if baseline is None or baseline.loaded is None:
        return tuple(files_), []
    known = {path for path, digest in files_.items() if path in baseline.loaded or digest in ignored}
    new = [
        FileFinding(path, digest, "new_loaded_file", "inventory", "loaded by WordPress", movable=False)
        for path, digest in files_.items()
        if path not in known
    ]
    return tuple(sorted(known)), new[:MAX_NEW_FILES]


def _mark_main_files(known: MainFiles, findings: list[FileFinding]) -> list[FileFinding]:
    """Without the main file of a plugin or theme, the site may not answer any more."""
    return [
        msgspec.structs.replace(each, movable=False)
        if each.movable and not known.may_move(each.path)
        else each
        for each in findings
    ]


def _shorten(path: str, reason: str) -> str:
    return f"{path[: MAX_FAILURE - len(reason)]}: {reason}"


def _fit_components(found: list[Component]) -> tuple[Component, ...]:
    """As many as fit into a message."""
    left, sent = MAX_COMPONENTS_BYTES, []
    for each in found:
        left -= sum(len(text.encode()) for text in (each.slug, each.name, each.version)) + 40
        if left >= 0:
            sent.append(each)
    return tuple(sent)


def _fit(found: list[FileFinding]) -> tuple[tuple[Finding, ...], int]:
    """As many as fit into a message, and how many do not."""
    sent, left = [], MAX_FINDINGS_BYTES
    for each in found:
        left -= len(each.path.encode()) + 400
        if left < 0:
            break
        sent.append(
            Finding(
                *(each.path[:4000], each.sha256, each.signature, each.engine, each.detail[:300], each.size),
                movable=each.movable,
            )
        )
    return tuple(sent), len(found) - len(sent)


def _read_baseline(file: Path) -> Baseline | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Baseline)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
