"""What runc is told of one stage: a function of its inputs and of nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stead.node.builds.caps import MB, RANGE, Caps
from stead.node.builds.seccomp import profile
from stead.node.images.making import UID

OPEN_FILES = 16384

_MASKED = (
    *("/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/acpi", "/proc/kallsyms", "/proc/config.gz", "/sys/firmware"),
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_NAMESPACES = ("user", "pid", "mount", "network", "ipc", "uts", "cgroup")


@dataclass(frozen=True)
class Bind:
    source: Path
    destination: str
    writable: bool = False


@dataclass(frozen=True)
class Stage:
    """One program in the sandbox."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/work/src"
    binds: tuple[Bind, ...] = ()


def configuration(
    stage: Stage, *, root: Path, cgroup: str, uid: int, caps: Caps, open_files: int, machine: str
) -> dict[str, Any]:
    mapping = [{"containerID": 0, "hostID": uid, "size": RANGE}]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": UID, "gid": UID, "umask": 0o022},
            "args": list(stage.argv),
            "env": [f"{name}={value}" for name, value in stage.environment.items()],
            "cwd": stage.directory,
            "capabilities": {
                kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")
            },
            "rlimits": [
                {"type": "RLIMIT_NOFILE", "soft": open_files, "hard": open_files},
                {"type": "RLIMIT_CORE", "soft": 0, "hard": 0},
            ],
            "noNewPrivileges": True,
        },
        "root": {"path": str(root), "readonly": True},
        "hostname": "build",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            _tmpfs("/dev", "nosuid", "strictatime", "mode=755", "size=64k"),
            _tmpfs("/dev/shm", "nosuid", "nodev", "noexec", "mode=1777", "size=64m"),  # noqa: S108
            _tmpfs("/run", "nosuid", "nodev", "noexec", "mode=755", "size=1m"),
            _tmpfs("/tmp", "nosuid", "nodev", "mode=1777", f"size={caps.memory_mb // 2}m"),  # noqa: S108
            *(_bind(each) for each in stage.binds),
        ],
        "linux": {
            "cgroupsPath": cgroup,
            "namespaces": [{"type": kind} for kind in _NAMESPACES],
            "uidMappings": mapping,
            "gidMappings": mapping,
            "resources": {
                "devices": [{"allow": False, "access": "rwm"}],
                "memory": {"limit": caps.memory_mb * MB, "swap": caps.memory_mb * MB},
                "cpu": {"shares": caps.cpu_shares, "quota": int(caps.cpus * 100_000), "period": 100_000},
                "pids": {"limit": caps.processes},
            },
            "seccomp": profile(machine),
            "maskedPaths": list(_MASKED),
            "readonlyPaths": list(_READ_ONLY),
        },
    }


def _tmpfs(destination: str, *options: str) -> dict[str, Any]:
    return {"destination": destination, "type": "tmpfs", "source": "tmpfs", "options": list(options)}


def _bind(each: Bind) -> dict[str, Any]:
    options = ["bind", "nosuid", "nodev", "rw" if each.writable else "ro"]
    return {
        "destination": each.destination,
        "type": "bind",
        "source": str(each.source),
        "options": options,
    }
