"""The files of a WordPress environment: a disk of fixed size with `wp-content`, and links to WordPress.

Root owns the disk and the links. The site owns `wp-content` only, so WordPress itself cannot be changed.
"""

import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from stead.node.containers.disks import Disks, is_mounted
from stead.node.containers.limits import ContainerFailed
from stead.node.drivers import layout
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.paths import CONTENT, CORE, EnvironmentPaths
from stead.node.wordpress.release_layout import UPLOADS, ReleaseLayout

LOG_MAX_BYTES = 8 << 20
_NOT_LINKED = ("wp-content", "wp-config.php", "wp-config-sample.php")


async def make_disk(paths: EnvironmentPaths, disks: Disks, megabytes: int) -> None:
    """Make the disk, unless it exists."""
    if paths.disk_file.exists():
        return
    paths.disk_file.parent.mkdir(mode=0o700, exist_ok=True)
    # Of an agent that was killed.
    await run_in_thread(layout.remove_files, paths.unfinished_disk_file)
    try:
        await disks.make(paths.unfinished_disk_file, megabytes, durable=True)
        paths.unfinished_disk_file.rename(paths.disk_file)
    finally:
        await run_in_thread(layout.remove_files, paths.unfinished_disk_file)


async def attach(paths: EnvironmentPaths, disks: Disks, core: Path, owner: int) -> None:
    """Mount the disk and make the directories, so that the edge can serve the environment's files."""
    if not paths.disk_file.exists():
        await run_in_thread(mark_lost, paths)
        raise ContainerFailed("its disk is missing")
    await mount(paths, disks)
    await run_in_thread(_fill, paths, core, owner)
    _lost_mark(paths).unlink(missing_ok=True)


async def mount(paths: EnvironmentPaths, disks: Disks) -> None:
    """Mount the disk of a dataset, which may be empty."""
    await run_in_thread(_make_directories, paths)
    if not is_mounted(paths.disk):
        await disks.mount(paths.disk_file, paths.disk)


async def remove_disk(paths: EnvironmentPaths, disks: Disks) -> None:
    """Remove the disk of one dataset. Files of it that are being read can be read to their end. Succeeds when
    there is none."""
    await disks.unmount(paths.disk, lazy=True)
    await run_in_thread(layout.remove_files, paths.disk_file, paths.unfinished_disk_file)
    with suppress(FileNotFoundError):
        paths.disk.rmdir()


def mark_lost(paths: EnvironmentPaths) -> None:
    """The edge tells visitors that the data of the site is lost, until it can be attached again."""
    paths.home.mkdir(exist_ok=True)
    paths.home.chmod(0o755)
    _lost_mark(paths).touch()


def _lost_mark(paths: EnvironmentPaths) -> Path:
    return paths.home / "data-lost"


async def remove(paths: EnvironmentPaths, disks: Disks) -> None:
    """Remove everything of the environment. Succeeds when nothing is there."""
    for dataset in sorted({*paths.list_datasets(), ""}):
        each = replace(paths, dataset=dataset)
        await disks.unmount(each.disk)
        await run_in_thread(layout.remove_files, each.disk_file, each.unfinished_disk_file)
    for directory in (paths.memory, paths.home):
        await run_in_thread(shutil.rmtree, directory, ignore_errors=True)


def serve_release(
    paths: EnvironmentPaths, core: Path, release: Path, layout_: ReleaseLayout, owner: int
) -> None:
    """The edge serves the files of this release from now on; those of others are forgotten."""
    wanted = paths.release_site(release.name)
    if wanted.exists():
        # There may be another version of WordPress.
        _link_core(wanted, core / CORE)
    else:
        _link_release(wanted, paths, core, release / layout_.content, owner)
    _set_current(paths, f"sites/{wanted.name}")
    for other in wanted.parent.iterdir():
        if other != wanted:
            shutil.rmtree(other, ignore_errors=True)


def serve_own_content(paths: EnvironmentPaths) -> None:
    """The edge serves `wp-content` from the disk of the environment."""
    _set_current(paths, f"{paths.disk.name}/site")


def _set_current(paths: EnvironmentPaths, target: str) -> None:
    if paths.current.is_symlink() and paths.current.readlink() == Path(target):
        return
    fresh = layout.hidden_name(paths.current)
    fresh.symlink_to(target)
    fresh.rename(paths.current)
    layout.sync_directory(paths.home)


def _link_release(wanted: Path, paths: EnvironmentPaths, core: Path, content: Path, owner: int) -> None:
    wanted.parent.mkdir(exist_ok=True)
    wanted.parent.chmod(0o755)
    unfinished = layout.hidden_name(wanted)
    for directory in (unfinished, unfinished / "wp-content"):
        directory.mkdir()
        directory.chmod(0o755)
    _link_core(unfinished, core / CORE)
    for entry in content.iterdir():
        (unfinished / "wp-content" / entry.name).symlink_to(paths.uploads if entry.name == UPLOADS else entry)
    # The edge follows a link only if its owner is that of what it leads to.
    os.lchown(unfinished / "wp-content" / UPLOADS, owner, owner)
    unfinished.rename(wanted)


def truncate_log(paths: EnvironmentPaths) -> None:
    """Keep the newest half of a log that is too long. PHP appends to the same file."""
    try:
        with paths.log.open("r+b") as log:
            size = log.seek(0, os.SEEK_END)
            if size <= LOG_MAX_BYTES:
                return
            log.seek(size - LOG_MAX_BYTES // 2)
            kept = log.read(LOG_MAX_BYTES // 2)
            log.seek(0)
            log.write(kept)
            log.truncate()
    except FileNotFoundError:
        return


def _make_directories(paths: EnvironmentPaths) -> None:
    # The workers of nginx and the users of the container pass through these.
    for directory in (paths.home, paths.home / "run", paths.inside, paths.disk):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
    if not paths.current.is_symlink():
        serve_own_content(paths)


def _fill(paths: EnvironmentPaths, core: Path, owner: int) -> None:
    """`core` is the root of the image of WordPress."""
    paths.site.mkdir(exist_ok=True)
    paths.log.parent.mkdir(mode=0o700, exist_ok=True)
    if not paths.log.exists():
        paths.log.touch(mode=0o600)
        # PHP-FPM opens the file again through its own descriptor.
        os.chown(paths.log, owner, owner)
    # A site that has filled its disk would leave no room for it.
    with suppress(OSError):
        paths.quarantine.mkdir(mode=0o700, exist_ok=True)
    if not paths.content.exists():
        _copy_content(core / CONTENT, paths.content, owner)
    _link_core(paths.site, core / CORE)
    layout.sync_directory(paths.site)


def _copy_content(source: Path, target: Path, owner: int) -> None:
    unfinished = target.with_name(".wp-content")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished)
    for name in ("uploads", "plugins", "themes", "languages", "upgrade"):
        (unfinished / name).mkdir(exist_ok=True)
    for folder, _, files in os.walk(unfinished):
        os.chown(folder, owner, owner)
        os.chmod(folder, 0o755)  # noqa: PTH101, S103
        for name in files:
            path = Path(folder) / name
            os.chown(path, owner, owner)
            path.chmod(0o644)
    unfinished.rename(target)


def _link_core(site: Path, core: Path) -> None:
    """Links for the edge, which serves the files of WordPress itself."""
    wanted = {path.name: path for path in core.iterdir() if path.name not in _NOT_LINKED}
    for path in site.iterdir():
        if path.is_symlink() and path.name not in wanted:
            path.unlink()
    for name, target in wanted.items():
        link = site / name
        if link.is_symlink() and link.readlink() == target:
            continue
        fresh = layout.hidden_name(link)
        fresh.symlink_to(target)
        fresh.rename(link)
