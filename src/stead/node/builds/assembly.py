"""Puts a node's builders together, where it has what they need."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from stead.node.builds.builder import StaticBuilder
from stead.node.builds.caches import Caches
from stead.node.builds.caps import Caps
from stead.node.builds.disks import Disks
from stead.node.builds.egress_rules import Rule, Rules, read_networks, read_rules
from stead.node.builds.rooms import Rooms, clear_leftovers, prefix_of
from stead.node.builds.sandbox import Sandbox
from stead.node.drivers.driver import Driver
from stead.node.images.recipe import NoImage
from stead.node.images.shelf import Shelf
from stead.node.processes import Run
from stead.node.settings import Settings

TOOLS = ("runc", "mkfs.ext4", "mount", "umount")

log = structlog.get_logger()


def build_drivers(settings: Settings, run: Run) -> list[Driver]:
    """None where builds are impossible; the log says why."""
    if reason := unavailable(settings):
        log.info("builds.unavailable", reason=reason)
        return []
    home = settings.data / "builds"
    if ended := clear_leftovers(home):
        log.warning("builds.leftovers_ended", groups=ended)
    return [static_builder(settings, run, home)]


def unavailable(settings: Settings) -> str:
    if os.geteuid() != 0:
        return "only root can start sandboxes"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} is not installed"
    try:
        image = _shelf(settings).find("static")
    except NoImage as error:
        return str(error)
    # The first process of a sandbox is no longer root when it goes there.
    closed = [path for path in image.root.parents if not path.stat().st_mode & 0o001]
    return f"{closed[0]} must let other users pass" if closed else ""


def static_builder(settings: Settings, run: Run, home: Path) -> StaticBuilder:
    caps, disks = caps_of(settings), Disks(run)
    rooms = Rooms(home, disks, caps)
    image = _shelf(settings).find("static")
    trust = Path(settings.build_trust)
    return StaticBuilder(
        rooms,
        Caches(home, disks, caps),
        Sandbox(run, home / "runc", image.root, trust, caps, prefix_of(home)),
        caps,
        rules_of(settings),
        settings.npm_registry,
    )


def caps_of(settings: Settings) -> Caps:
    return Caps(
        memory_mb=settings.build_memory_mb,
        seconds=settings.build_seconds,
        disk_mb=settings.build_disk_mb,
        processes=settings.build_pids,
        cpus=settings.build_cpus,
        cpu_shares=settings.build_cpu_shares,
        at_once=settings.build_at_once,
        cache_mb=settings.build_cache_mb,
        caches_mb=settings.build_caches_mb,
    )


def rules_of(settings: Settings) -> Rules:
    parts = urlsplit(settings.npm_registry)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    registry = Rule((parts.hostname or "").lower(), port, anywhere=True)
    return Rules((registry, *read_rules(settings.build_egress)), read_networks(settings.build_networks))


def _shelf(settings: Settings) -> Shelf:
    return Shelf(Path(settings.images)) if settings.images else Shelf()
