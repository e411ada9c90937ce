"""Puts the builders of a node together, if it has what they need."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from stead.node.builds.builder import StaticBuilder
from stead.node.builds.caches import Caches
from stead.node.builds.limits import BuildLimits
from stead.node.builds.sandbox import Sandbox
from stead.node.builds.workspaces import Workspaces, container_prefix, remove_leftovers
from stead.node.containers.disks import Disks
from stead.node.containers.egress_rules import EgressRules, HostRule, read_host_rules, read_networks
from stead.node.drivers.driver import Driver
from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.processes import Run
from stead.node.settings import Settings

TOOLS = ("runc", "mkfs.ext4", "mount", "umount")

log = structlog.get_logger()


def build_drivers(settings: Settings, run: Run) -> list[Driver]:
    """Empty where builds are impossible; the log says why."""
    if reason := why_unavailable(settings):
        log.info("builds.unavailable", reason=reason)
        return []
    home = settings.data / "builds"
    if ended := remove_leftovers(home):
        log.warning("builds.leftovers_ended", groups=ended)
    return [static_builder(settings, run, home)]


def why_unavailable(settings: Settings) -> str:
    """Empty when builds are possible."""
    if os.geteuid() != 0:
        return "only root can start sandboxes"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} is not installed"
    try:
        image = _image_store(settings).find("static")
    except ImageUnavailable as error:
        return str(error)
    # The first process of a sandbox is not root any more when it enters the image.
    closed = [path for path in image.root.parents if not path.stat().st_mode & 0o001]
    return f"{closed[0]} must let other users pass" if closed else ""


def static_builder(settings: Settings, run: Run, home: Path) -> StaticBuilder:
    limits, disks = limits_of(settings), Disks(run)
    workspaces = Workspaces(home, disks, limits)
    image = _image_store(settings).find("static")
    certificates = Path(settings.build_trust)
    return StaticBuilder(
        workspaces,
        Caches(home, disks, limits),
        Sandbox(run, home / "runc", image.root, certificates, limits, container_prefix(home)),
        limits,
        egress_rules_of(settings),
        settings.npm_registry,
    )


def limits_of(settings: Settings) -> BuildLimits:
    return BuildLimits(
        memory_mb=settings.build_memory_mb,
        seconds=settings.build_seconds,
        disk_mb=settings.build_disk_mb,
        processes=settings.build_pids,
        cpus=settings.build_cpus,
        cpu_shares=settings.build_cpu_shares,
        concurrent=settings.build_at_once,
        cache_mb=settings.build_cache_mb,
        all_caches_mb=settings.build_caches_mb,
    )


def egress_rules_of(settings: Settings) -> EgressRules:
    parts = urlsplit(settings.npm_registry)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    registry = HostRule((parts.hostname or "").lower(), port, any_address=True)
    listed = read_host_rules(settings.build_egress)
    return EgressRules((registry, *listed), read_networks(settings.build_networks))


def _image_store(settings: Settings) -> ImageStore:
    return ImageStore(Path(settings.images)) if settings.images else ImageStore()
