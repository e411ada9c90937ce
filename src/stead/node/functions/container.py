"""The container of all functions of a node: no network, read-only, and the processes of every version have a
user of their own. It runs the interpreter and two libraries of this installation."""

import contextlib
import importlib.util
import os
import platform
import resource
import socket
import sys
import zlib
from pathlib import Path
from typing import Any

from stead.node.containers.bundle import BindMount, ContainerProcess, configuration
from stead.node.containers.limits import MB, MEMORY, ContainerLimits, first_uid
from stead.node.containers.runc import open_files_limit
from stead.node.containers.services import ServiceContainer, Services

SLOT = 1000
"""The range of users of the container. Ranges before 1024 belong to the node itself; builds use the first."""
FIRST_USER, USERS = 1000, 60_000
"""The users inside the container that functions get."""
START_SECONDS = 60.0

_PYTHON, _LIBRARIES = "/opt/python", "/srv/lib"
_PACKAGES = ("wasmtime", "msgspec")
_NICE = 20
"""The limit of the kernel for the nice value 0."""
_CAPABILITIES = ["CAP_SETUID", "CAP_SETGID", "CAP_KILL"]


def user_of(slot: int) -> int:
    return FIRST_USER + slot % USERS


class FunctionsContainer:
    """`memory_mb` is for all functions of the node together."""

    def __init__(self, home: Path, *, memory_mb: int, processes: int) -> None:
        self._home, self._root = home, home / "root"
        self._limits = ContainerLimits(
            memory_mb=memory_mb, processes=processes, cpus=float(os.cpu_count() or 1), cpu_shares=512
        )
        self._services = Services(home / "runc")
        # The name is the same after a restart, so that what is left of the last one is found.
        name = f"stead-functions-{zlib.crc32(str(home).encode()):08x}"
        self._container = ServiceContainer(name, MEMORY / name, home / "container.log")

    @property
    def cgroup(self) -> str:
        return self._container.cgroup

    async def start(self) -> socket.socket:
        """Start the container and return the socket that its first process reads."""
        await self._services.remove(self._container)
        _make_root(self._root)
        # The container inherits it: a function with a low priority may get the ordinary one back.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NICE, (_NICE, _NICE))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            await self._services.start(self._container, self._configuration(), theirs)
        ours.setblocking(False)
        return ours

    async def stop(self) -> None:
        await self._services.remove(self._container)

    def _configuration(self) -> dict[str, Any]:
        process = ContainerProcess(
            (f"{_PYTHON}/bin/{Path(sys._base_executable).name}", "-m", "sandbox.zygote"),  # type: ignore[attr-defined]  # noqa: SLF001
            {
                "PYTHONPATH": _LIBRARIES,
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONHOME": _PYTHON,
                "PATH": "/usr/bin",
                "LANG": "C.UTF-8",
                "LD_LIBRARY_PATH": f"{_PYTHON}/lib",
            },
            "/",
            (
                BindMount(Path("/usr"), "/usr"),
                BindMount(Path(sys.base_prefix), _PYTHON),
                *(BindMount(_package(name), f"{_LIBRARIES}/{name}") for name in _PACKAGES),
                BindMount(Path(__file__).parent / "sandbox", f"{_LIBRARIES}/sandbox"),
            ),
        )
        made = configuration(
            process,
            root=self._root,
            hostname="functions",
            cgroup=self._container.cgroup,
            first_uid=first_uid(SLOT),
            user=0,
            limits=self._limits,
            open_files=open_files_limit(),
            machine=platform.machine(),
        )
        # What is written there would take memory from all functions, and stay when its writer has ended.
        for mount in made["mounts"]:
            if mount["type"] == "tmpfs":
                mount["options"] = [*_without_size(mount["options"]), "size=64k"]
        # Only the first process has them: forked processes become another user, and lose them for good.
        made["process"]["capabilities"] = {
            kind: _CAPABILITIES if kind in ("bounding", "effective", "permitted") else []
            for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")
        }
        return made


def _without_size(options: list[str]) -> list[str]:
    return [option for option in options if not option.startswith("size=")]


def default_memory_mb() -> int:
    """A quarter of the machine's."""
    return max(512, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB // 4)


def _make_root(root: Path) -> None:
    """An image that contains nothing but places to mount over."""
    libraries = [f"{_LIBRARIES[1:]}/{name}" for name in (*_PACKAGES, "sandbox")]
    for name in ("usr", "proc", "dev", "run", "tmp", "sys", _PYTHON[1:], *libraries):
        (root / name).mkdir(parents=True, exist_ok=True, mode=0o755)
    for name in ("bin", "lib", "lib64", "sbin"):
        if not (root / name).is_symlink():
            (root / name).symlink_to(f"usr/{name}")


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    assert found is not None  # noqa: S101
    assert found.origin is not None  # noqa: S101
    return Path(found.origin).parent


def has_wasmtime() -> bool:
    return importlib.util.find_spec("wasmtime") is not None
