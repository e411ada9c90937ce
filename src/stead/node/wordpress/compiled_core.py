"""WordPress itself, compiled by PHP: a site that wakes need not compile it again.

The platform compiles it, once for each pair of images, in a container that contains no code of a customer.
All sites share the result, and none can change it: compiled files are programs. They are stored beside the
image of PHP, because only the same PHP can use them.
"""

import os
import platform
import re
import shutil
import time
from pathlib import Path
from secrets import token_hex

import structlog

from stead.node.containers.bundle import BindMount, ContainerProcess, configuration
from stead.node.containers.limits import ContainerFailed, ContainerLimits, first_uid
from stead.node.containers.runc import Runc, new_container, open_files_limit
from stead.node.hosting.desired_state import FIRST_SLOT
from stead.node.images.image_store import COMPILED
from stead.node.processes import StreamName
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.configuration_files import TEMPLATES
from stead.node.wordpress.paths import CORE

INSIDE = "/run/compiled"
"""Where containers have the compiled files. PHP before 8.5 refuses a directory that it cannot write to. So
this one is writable, and the only one in it that PHP uses is not."""
USER = 33
SLOT = FIRST_SLOT - 1
"""Its range of users belongs to no site and no build."""
LIMITS = ContainerLimits(memory_mb=512, processes=16, cpus=1.0, cpu_shares=128)
_SYSTEM_ID = re.compile("[0-9a-f]{32}")
_UNFINISHED = ".making-"
_ABANDONED_SECONDS = 3600.0

log = structlog.get_logger()


def compiled_path(php: Path, core: Path) -> Path:
    """Where the compiled files of this pair of images are. Both are root directories of images."""
    return php.parent / COMPILED / core.parent.name


def mount_compiled(compiled: Path) -> list[BindMount]:
    """Empty if there are none."""
    try:
        names = [path.name for path in compiled.iterdir() if _SYSTEM_ID.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    return [BindMount(compiled / name, f"{INSIDE}/{name}", executable=False) for name in names]


def file_cache_options(mounts: list[BindMount]) -> dict[str, str]:
    """The settings of OPcache. The files are not checked for damage each time they are read."""
    return {"file_cache": INSIDE, "file_cache_consistency_checks": "0"} if mounts else {}


class CoreCompiler:
    """`home` is a directory in memory for the configuration of containers."""

    def __init__(self, runc: Runc, home: Path, prefix: str) -> None:
        self._runc, self._home, self._prefix = runc, home, prefix

    async def ensure(self, php: Path, core: Path) -> None:
        """Compile, unless this was done. Sites work without it, so a failure is only logged."""
        place = compiled_path(php, core)
        if place.is_dir():
            return
        began = time.monotonic()
        try:
            await self._make(php, core, place)
        except (ContainerFailed, OSError) as error:
            log.warning("wordpress.not_compiled", error=type(error).__name__, reason=str(error))
        else:
            log.info("wordpress.compiled", seconds=round(time.monotonic() - began, 1))

    async def _make(self, php: Path, core: Path, place: Path) -> None:
        fresh = await run_in_thread(_make_directory, place)
        try:
            await self._compile(php, core, fresh)
            await run_in_thread(_publish, fresh, place)
        finally:
            await run_in_thread(shutil.rmtree, fresh, ignore_errors=True)

    async def _compile(self, php: Path, core: Path, output: Path) -> None:
        options = {"file_cache": INSIDE, "file_cache_only": 1, "jit": 0}
        words = [word for name, value in options.items() for word in ("-d", f"opcache.{name}={value}")]
        compiler = ("/usr/local/sbin/php-fpm", *words)
        process = ContainerProcess(
            ("/usr/bin/tini", "--", "/usr/local/bin/php", "/run/compile.php", *compiler),
            {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"},
            mounts=(
                BindMount(core / CORE, "/srv/site", executable=False),
                BindMount(TEMPLATES / "compile.php", "/run/compile.php"),
                BindMount(output, INSIDE, writable=True, executable=False),
            ),
        )
        container = new_container(self._prefix, self._home)
        wanted = configuration(
            process,
            root=php,
            hostname="site",
            cgroup=container.cgroup,
            first_uid=first_uid(SLOT),
            user=USER,
            limits=LIMITS,
            open_files=open_files_limit(),
            machine=platform.machine(),
        )
        if code := await self._runc.run(container, wanted, _discard):
            raise ContainerFailed(f"PHP ended with {code}")


def _make_directory(place: Path) -> Path:
    home = place.parent
    home.mkdir(exist_ok=True)
    home.chmod(0o755)
    for path in home.glob(f"{_UNFINISHED}*"):
        # Of an agent that was killed. Another one on this machine may be compiling now.
        if path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
    fresh = home / f"{_UNFINISHED}{token_hex(8)}"
    fresh.mkdir(mode=0o700)
    owner = first_uid(SLOT) + USER
    os.chown(fresh, owner, owner)
    return fresh


def _publish(fresh: Path, place: Path) -> None:
    """From now on every site can read the files, and none can write them."""
    if not any(_SYSTEM_ID.fullmatch(path.name) for path in fresh.iterdir()):
        raise ContainerFailed("PHP has stored nothing")
    for folder, folders, files in os.walk(fresh):
        for name in (*folders, *files):
            path = Path(folder) / name
            os.chown(path, 0, 0, follow_symlinks=False)
            path.chmod(0o755 if name in folders else 0o644)
    os.chown(fresh, 0, 0)
    fresh.chmod(0o755)
    if not place.exists():
        fresh.rename(place)


async def _discard(_: StreamName, __: bytes) -> None:
    return
