"""No false alarms: ordinary files are scanned with both engines. `make corpus` scans all files of the images
that sites and builds use (WordPress, wp-cli, npm, Composer, PHP and their systems), and prints figures."""

import os
import time
from pathlib import Path

from stead.node.images.image_store import ImageStore
from stead.node.scanning.findings import Root
from stead.node.scanning.site_scan import SiteScan
from stead.node.uninterrupted import run_in_thread
from tests.node.scanning.scanned_directory import scanned_directory

IMAGES = ("wordpress", "composer", "static", "php8.2")
PLUGINS_AND_THEMES = "srv/wordpress-content"
SECONDS = 3600.0
"""More than a site has: all files are scanned."""
WANTED = int(os.environ.get("STEAD_CLEAN_FILES") or 0)


def _roots() -> list[Root]:
    store = ImageStore()
    if not WANTED:
        return [Root(store.find("wordpress").root / PLUGINS_AND_THEMES, "wp-content/plugins/wordpress")]
    return [Root(store.find(name).root, f"wp-content/plugins/{name}") for name in IMAGES]


async def test_clean_files_have_no_findings(scratch: Path) -> None:
    async with scanned_directory(scratch) as place:
        (place.home / "known").write_bytes(b"")
        async with place.scanner.open(place.home / "known", SECONDS) as (channel, engines):
            index = place.home / "index"
            scan = SiteScan(channel, _roots(), index, engines.version, full=True, seconds=SECONDS)
            began = time.monotonic()
            report = await run_in_thread(scan.run)
            seconds = time.monotonic() - began
    print(  # noqa: T201
        f"{report.files} clean files, {report.bytes >> 20} MB in {seconds:.1f} s;"
        f" false alarms: {len(report.findings) + report.omitted}; without a result: {len(report.failed)}"
    )
    assert report.findings == []
    assert report.scanned + len(report.failed) == report.files >= max(WANTED, 100)
    # What exceeds the limits of clamd is no malware, and is not called clean.
    assert len(report.failed) <= report.files / 1000, report.failed
