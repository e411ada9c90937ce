"""Puts the builders of a node together, if it has what they need."""

import os
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from stead.node.builds.builder import StaticBuilder
from stead.node.builds.caches import Caches
from stead.node.builds.cms_builder import CmsBuilder
from stead.node.builds.function_builder import IMAGE as FUNCTIONS_IMAGE
from stead.node.builds.function_builder import FunctionBuilder
from stead.node.builds.limits import BuildLimits
from stead.node.builds.sandbox import Sandbox
from stead.node.builds.toolchains import PythonIndex, Toolchains
from stead.node.builds.workspaces import Workspaces, container_prefix, remove_leftovers
from stead.node.containers import cgroups
from stead.node.containers.disks import Disks
from stead.node.containers.egress_rules import (
    EgressRules,
    HostRule,
    read_host_rules,
    read_networks,
    read_plain_networks,
)
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Driver
from stead.node.images.image_store import ImageStore
from stead.node.images.on_demand import ImageMaker
from stead.node.images.recipe import ImageUnavailable
from stead.node.platform_addresses import find_platform_addresses
from stead.node.processes import Run
from stead.node.settings import Settings
from stead.protocol.work.builds import Build

TOOLS = ("runc", "mkfs.ext4", "mount", "umount")

log = structlog.get_logger()


def build_drivers(settings: Settings, run: Run, space: DiskSpace) -> list[Driver]:
    """Empty where builds are impossible; the log says why."""
    if reason := why_unavailable(settings):
        log.info("builds.unavailable", reason=reason)
        return []
    home = settings.data / "builds"
    if ended := remove_leftovers(home):
        log.warning("builds.leftovers_ended", groups=ended)
    static = static_builder(settings, run, home, space)
    builders: list[Driver] = [static, cms_builder(settings, run, home, static)]
    if functions := function_builder(settings, run, home, static):
        builders.append(functions)
    return builders


def why_unavailable(settings: Settings) -> str:
    """Empty when builds are possible."""
    if os.geteuid() != 0:
        return "only root can start sandboxes"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} is not installed"
    try:
        image = ImageStore.at(settings.images).find("static")
    except ImageUnavailable as error:
        return str(error)
    # The first process of a sandbox is not root any more when it enters the image.
    closed = [path for path in image.root.parents if not path.stat().st_mode & 0o001]
    return f"{closed[0]} must let other users pass" if closed else ""


def static_builder(settings: Settings, run: Run, home: Path, space: DiskSpace) -> StaticBuilder:
    limits, disks = limits_of(settings), Disks(run)
    workspaces = Workspaces(home, disks, limits)
    images = ImageStore.at(settings.images)
    image = images.find("static")
    images.lock(image)
    certificates = Path(settings.build_trust)

    def make_sandbox(root: Path) -> Sandbox:
        return Sandbox(run, home / "runc", root, certificates, limits, container_prefix(home))

    return StaticBuilder(
        workspaces,
        Caches(home, disks, limits),
        make_sandbox(image.root),
        limits,
        egress_rules_of(settings),
        settings.npm_registry,
        space,
        partial(find_platform_addresses, settings),
        toolchains=Toolchains(images, make_sandbox, python_index_of(settings)),
    )


def cms_builder(settings: Settings, run: Run, home: Path, static: StaticBuilder) -> CmsBuilder:
    """It fetches in the same sandbox as the builder of static sites, and shares its workspaces: together they
    run as many builds as are allowed."""
    shared = {field.name: getattr(static, field.name) for field in fields(static)}
    hosts = read_host_rules(settings.composer_hosts)
    return CmsBuilder(
        **shared, find_composer=_sandbox_finder("composer", settings, run, home), composer_hosts=hosts
    )


def function_builder(
    settings: Settings, run: Run, home: Path, static: StaticBuilder
) -> FunctionBuilder | None:
    """None if the node has no image, and does not make one on demand: other nodes can build functions."""
    images = ImageStore.at(settings.images)
    maker = ImageMaker(images, run, Build.unsupported_code) if settings.images_on_demand else None
    find = _sandbox_finder(FUNCTIONS_IMAGE, settings, run, home)
    if maker is None and find() is None:
        return None
    shared = {field.name: getattr(static, field.name) for field in fields(static)}
    return FunctionBuilder(**shared, find_sandbox=find, image_maker=maker)


def _sandbox_finder(name: str, settings: Settings, run: Run, home: Path) -> Callable[[], Sandbox | None]:
    """The image may be made while the agent runs."""
    found: list[Sandbox] = []

    def find() -> Sandbox | None:
        if not found:
            images = ImageStore.at(settings.images)
            try:
                image = images.find(name)
                images.lock(image)
            except ImageUnavailable as unavailable:
                log.warning("builds.image_unavailable", image=name, reason=str(unavailable))
                return None
            certificates, prefix = Path(settings.build_trust), container_prefix(home)
            limits = limits_of(settings)
            found.append(Sandbox(run, home / "runc", image.root, certificates, limits, prefix))
        return found[0]

    return find


def limits_of(settings: Settings) -> BuildLimits:
    return BuildLimits(
        memory_mb=settings.build_memory_mb,
        seconds=settings.build_seconds,
        disk_mb=settings.build_disk_mb,
        processes=settings.build_pids,
        cpus=settings.build_cpus,
        cpu_shares=settings.build_cpu_shares,
        io_weight=settings.build_io_weight if cgroups.has_io_weights() else 0,
        concurrent=settings.build_at_once,
        cache_mb=settings.build_cache_mb,
        all_caches_mb=settings.build_caches_mb,
    )


def python_index_of(settings: Settings) -> PythonIndex:
    named = read_host_rules(settings.python_files)
    return PythonIndex(settings.python_index, tuple(replace(rule, any_address=True) for rule in named))


def egress_rules_of(settings: Settings) -> EgressRules:
    parts = urlsplit(settings.npm_registry)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    registry = HostRule((parts.hostname or "").lower(), port, any_address=True)
    listed = read_host_rules(settings.build_egress)
    return EgressRules(
        (registry, *listed),
        read_networks(settings.build_networks),
        platform_networks=read_plain_networks(settings.platform_networks),
    )
