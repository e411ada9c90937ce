"""The configuration of one container for runc: a pure function of its arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stead.node.containers.limits import MB, UIDS_PER_CONTAINER, ContainerLimits
from stead.node.containers.seccomp import profile

OPEN_FILES = 16384
START_SCRIPT = Path(__file__).parent / "scripts" / "start.sh"
QUIET_TINI = {"TINI_VERBOSITY": "0"}
"""Without it, tini writes a warning into the output of a program that ends just before it gets a signal. The
start script removes it from the environment of the program."""
"""The first program of containers that may use the egress proxy; it starts the program in its arguments."""

_MASKED = (
    *("/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/acpi", "/proc/kallsyms", "/proc/config.gz", "/sys/firmware"),
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_NAMESPACES = ("user", "pid", "mount", "network", "ipc", "uts", "cgroup")


@dataclass(frozen=True)
class BindMount:
    source: Path
    destination: str
    writable: bool = False
    executable: bool = True


@dataclass(frozen=True)
class ContainerProcess:
    """The program of a container."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    mounts: tuple[BindMount, ...] = ()
    memory: tuple[str, ...] = ()
    """Small directories in memory, in which mounts can be placed."""
    writable_memory: tuple[str, ...] = ()
    """The same, and every user of the container can write to them."""


def configuration(
    process: ContainerProcess,
    *,
    root: Path,
    hostname: str,
    cgroup: str,
    first_uid: int,
    user: int,
    limits: ContainerLimits,
    open_files: int,
    machine: str,
) -> dict[str, Any]:
    """The process runs as the container's user `user`, which is `first_uid + user` on the host."""
    mapping = [{"containerID": 0, "hostID": first_uid, "size": UIDS_PER_CONTAINER}]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": user, "umask": 0o022},
            "args": list(process.argv),
            "env": [f"{name}={value}" for name, value in process.environment.items()],
            "cwd": process.directory,
            "capabilities": {
                kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")
            },
            "rlimits": [
                {"type": "RLIMIT_NOFILE", "soft": open_files, "hard": open_files},
                {"type": "RLIMIT_CORE", "soft": 0, "hard": 0},
            ],
            "noNewPrivileges": True,
            # If the machine is short of memory, the kernel ends customers' code before the node's own.
            "oomScoreAdj": 500,
        },
        "root": {"path": str(root), "readonly": True},
        "hostname": hostname,
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            _tmpfs("/dev", "nosuid", "strictatime", "mode=755", "size=64k"),
            _tmpfs("/dev/shm", "nosuid", "nodev", "noexec", "mode=1777", "size=64m"),  # noqa: S108
            _tmpfs("/run", "nosuid", "nodev", "noexec", "mode=755", "size=1m"),
            _tmpfs("/tmp", "nosuid", "nodev", "mode=1777", f"size={limits.memory_mb // 2}m"),  # noqa: S108
            *(_small_tmpfs(path, "mode=755") for path in process.memory),
            *(_small_tmpfs(path, "mode=1777") for path in process.writable_memory),
            *(_bind(mount) for mount in process.mounts),
        ],
        "linux": {
            "cgroupsPath": cgroup,
            "namespaces": [{"type": kind} for kind in _NAMESPACES],
            "uidMappings": mapping,
            "gidMappings": mapping,
            "resources": _resources(limits),
            "seccomp": profile(machine),
            "maskedPaths": list(_MASKED),
            "readonlyPaths": list(_READ_ONLY),
        },
    }


def with_terminal(made: Mapping[str, Any]) -> dict[str, Any]:
    """The same configuration, for a program in a terminal of the container itself."""
    terminals = {
        "destination": "/dev/pts",
        "type": "devpts",
        "source": "devpts",
        "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
    }
    return {
        **made,
        "process": {**made["process"], "terminal": True},
        "mounts": [*made["mounts"], terminals],
    }


def _resources(limits: ContainerLimits) -> dict[str, Any]:
    block_io = {"blockIO": {"weight": limits.io_weight}} if limits.io_weight else {}
    return block_io | {
        "devices": [{"allow": False, "access": "rwm"}],
        "memory": {"limit": limits.memory_mb * MB, "swap": limits.memory_mb * MB},
        "cpu": {"shares": limits.cpu_shares, "quota": int(limits.cpus * 100_000), "period": 100_000},
        "pids": {"limit": limits.processes},
    }


def _tmpfs(destination: str, *options: str) -> dict[str, Any]:
    return {"destination": destination, "type": "tmpfs", "source": "tmpfs", "options": list(options)}


def _small_tmpfs(destination: str, mode: str) -> dict[str, Any]:
    return _tmpfs(destination, "nosuid", "nodev", "noexec", mode, "size=64k")


def _bind(mount: BindMount) -> dict[str, Any]:
    access = "rw" if mount.writable else "ro"
    return {
        "destination": mount.destination,
        "type": "bind",
        "source": str(mount.source),
        "options": ["bind", "nosuid", "nodev", access, *([] if mount.executable else ["noexec"])],
    }
