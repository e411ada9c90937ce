"""Scans for malware: all files of the images that sites and builds use, compared with bare clamd and YARA.
None of these files is malware, so the benchmark also counts false alarms."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from bench.cms import require_images
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.processes import Processes
from stead.node.scanning.child import MAX_FILES_AT_ONCE
from stead.node.scanning.clamd_client import ClamdSession
from stead.node.scanning.findings import FileReport, Root
from stead.node.scanning.scanner import Scanner, is_installed
from stead.node.scanning.site_scan import SiteScan
from stead.node.scanning.yara_engine import YaraEngine, YaraFailed, compile_rules
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work import ScanEnvironment
from tests.node.wordpress.wordpress_node import Site, WordPressNode, start_wordpress_node

IMAGES = ("wordpress", "composer", "static", "php8.2")
ROUNDS, REQUESTS, FILES = 3, 200, 2000
VISITOR_GOAL = 1.2
SCAN_SECONDS = 3600.0
"""More than a site has: all files are compared."""
FULL_GOAL, UNCHANGED_GOAL, RATIO_GOAL = 40_000, 400_000, 1.3


async def compare_visitors(_: Bench) -> Result:
    """The slowest requests of a site while it is scanned, and while it is not."""
    require_images()
    async with start_wordpress_node() as node:
        site = await node.create(workers=2, memory_mb=512, cpus=1.0)
        await run_in_thread(_add_files, site)
        work = ScanEnvironment("cms", full=True, hosts=(site.host,))
        await node.runtime.scans.scan(site.assignment, work)
        ratios, details = [], []
        for _round in range(ROUNDS):
            alone = await _measure_requests(site)
            scanning = asyncio.create_task(_scan_on(node, site, work))
            try:
                beside = await _measure_requests(site)
            finally:
                scanning.cancel()
                with suppress(asyncio.CancelledError):
                    await scanning
            ratios.append(beside / alone)
            details.append(f"{alone * 1000:.0f} ms alone, {beside * 1000:.0f} ms beside a scan")
    return Result(median(ratios), VISITOR_GOAL, [f"ratio {spread(ratios)}", *details])


def _add_files(site: Site) -> None:
    code = (
        b"<?php\nfunction example_%d($value) { return esc_html(trim($value)); }\n"
        + b"// a line of text\n" * 400
    )
    folder = site.paths.content / "plugins" / "example"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.php").write_bytes(code % number)


async def _measure_requests(site: Site) -> float:
    """The 99th percentile of their times, in seconds."""
    times = []
    for number in range(REQUESTS):
        began = time.monotonic()
        response = await site.get(f"/?bench={number}")
        times.append(time.monotonic() - began)
        if response.status_code != 200:
            raise CouldNotRun(f"the site has answered {response.status_code}")
    return sorted(times)[len(times) * 99 // 100 - 1]


async def _scan_on(node: WordPressNode, site: Site, work: ScanEnvironment) -> None:
    while True:
        await node.runtime.scans.scan(site.assignment, work)


async def measure_scans(_: Bench) -> Result:
    """The value is the number of files per minute of a full scan."""
    if os.geteuid() != 0 or not is_installed():
        raise CouldNotRun("it needs root and clamd (apt-get install clamav-daemon)")
    home = Path(tempfile.mkdtemp(prefix="stead-bench-"))
    home.chmod(0o755)  # noqa: ASYNC240
    scanner = Scanner(home / "scanner", Processes("bench").run)
    try:
        roots = [Root(_find_image(name), f"wp-content/plugins/{name}", movable=False) for name in IMAGES]
        (home / "known").write_bytes(b"")
        # The rules are compiled, and the files are in the cache of the kernel.
        await _scan(scanner, home, roots, full=True)
        full, report = await _scan(scanner, home, roots, full=True)
        unchanged, again = await _scan(scanner, home, roots, full=False)
        bare = await run_in_thread(_scan_bare, scanner, roots)
    finally:
        await scanner.stop()
        shutil.rmtree(home)
    return Result(
        60 * report.files / full,
        FULL_GOAL,
        [
            f"{report.files} files, {report.bytes >> 20} MB in {full:.1f} s; a higher value is better",
            f"false alarms: {len(report.findings)}; without a result: {len(report.failed)}",
            *(f"false alarm: {each.path} {each.signature}" for each in report.findings[:20]),
            *(f"without a result: {path}: {reason}" for path, reason in report.failed[:5]),
            f"unchanged: {60 * again.files / unchanged:.0f} files per minute, goal {UNCHANGED_GOAL}"
            f" ({again.unchanged} of {again.files} were)",
            f"ratio to bare clamd and YARA {full / bare:.2f}, goal {RATIO_GOAL} ({bare:.1f} s)",
        ],
    )


def _find_image(name: str) -> Path:
    try:
        return ImageStore().find(name).root
    except ImageUnavailable as reason:
        raise CouldNotRun(str(reason)) from None


async def _scan(scanner: Scanner, home: Path, roots: list[Root], *, full: bool) -> tuple[float, FileReport]:
    async with scanner.open(home / "known", SCAN_SECONDS) as (channel, engines):
        scan = SiteScan(channel, roots, home / "index", engines.version, full=full, seconds=SCAN_SECONDS)
        began = time.monotonic()
        report = await run_in_thread(scan.run)
        return time.monotonic() - began, report


def _scan_bare(scanner: Scanner, roots: Sequence[Root]) -> float:
    """What an administrator would write: each file to clamd, and through the same rules."""
    engine = YaraEngine(compile_rules(None))
    session = ClamdSession(str(scanner.clamd.socket))
    began = time.monotonic()
    batch: list[Path] = []
    for file in _list_files(roots):
        batch.append(file)
        if len(batch) == MAX_FILES_AT_ONCE:
            _scan_batch(session, engine, batch)
            batch = []
    _scan_batch(session, engine, batch)
    session.close()
    return time.monotonic() - began


def _scan_batch(session: ClamdSession, engine: YaraEngine, batch: Sequence[Path]) -> None:
    descriptors = [os.open(file, os.O_RDONLY) for file in batch]
    try:
        for file, descriptor in zip(batch, descriptors, strict=True):
            session.submit(descriptor)
            try:
                engine.scan(file.read_bytes(), b"wp-content/plugins/" + os.fsencode(file.name))
            except YaraFailed:
                continue
        session.finish()
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _list_files(roots: Sequence[Root]) -> Iterator[Path]:
    for root in roots:
        for folder, _, names in os.walk(root.directory):
            for name in names:
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    yield path
