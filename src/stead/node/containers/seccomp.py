"""The system calls that a container may make. Everything that is not listed is refused, so a call that a new
kernel adds is not allowed until somebody has thought about it.

The groups say what customers' programs (shells, compilers, Node.js, git, curl) need the calls for. Not
listed, and refused a second time by namespaces and dropped capabilities, are above all: mounts and
namespaces; keys, BPF, performance events, userfaultfd and io_uring, through which kernels were attacked;
tracing and the memory of other processes; kernel modules, the clock, swap and reboot; handles of files, which
leave a directory.
"""

from collections.abc import Sequence
from typing import Any

_FILES = (
    *("access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2"),
    *("dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat"),
    *("fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock"),
    *("fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd"),
    *("getdents", "getdents64", "getxattr", "ioctl", "lchown", "lgetxattr", "link", "linkat", "listxattr"),
    *("llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat"),
    *("newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev"),
    *("pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "removexattr", "rename"),
    *("renameat", "renameat2", "rmdir", "sendfile", "setxattr", "splice", "stat", "statfs", "statx"),
    *("symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "umask", "unlink"),
    *("unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev"),
)
"""To read and write files. What may be reached is decided by mounts and users."""
_MEMORY = (
    *("brk", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "mincore", "mlock", "mlock2"),
    *("mlockall", "mmap", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap"),
    *("pkey_alloc", "pkey_free", "pkey_mprotect", "remap_file_pages"),
)
"""Allocators, loaders and just-in-time compilers. The control group limits the memory."""
_PROCESSES = (
    *("arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork", "getcpu"),
    *("getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid"),
    *("getpriority", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "gettid", "getuid"),
    *("ioprio_get", "ioprio_set", "kill", "pidfd_open", "pidfd_send_signal", "prctl", "prlimit64"),
    *("rseq", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr"),
    *("sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity"),
    *("sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "set_robust_list"),
    *("get_robust_list", "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups", "setpgid"),
    *("setpriority", "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setuid"),
    *("sysinfo", "tgkill", "times", "tkill", "uname", "vfork", "wait4", "waitid", "seccomp"),
    *("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
)
"""To start and end processes and threads of the same container. `seccomp` and `landlock` only take rights
away; browsers in test runners use them. There are no capabilities that `capset` and `setuid` could use."""
_SIGNALS_AND_TIME = (
    *("alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep"),
    *("pause", "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo"),
    *("rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "setitimer", "sigaltstack"),
    *("signalfd", "signalfd4", "time", "timer_create", "timer_delete", "timer_getoverrun"),
    *("timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime"),
)
"""To wait and to read the clock; not to set it."""
_WAITING = (
    *("epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd"),
    *("eventfd2", "futex", "futex_waitv", "futex_wait", "futex_wake", "futex_requeue", "inotify_add_watch"),
    *("inotify_init", "inotify_init1", "inotify_rm_watch", "pipe", "pipe2", "poll", "ppoll", "pselect6"),
    *("select",),
)
"""Event loops, locks of threads, watchers of files."""
_SOCKETS = (
    *("accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen"),
    *("recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown"),
    *("socketpair",),
)
"""For servers and clients inside the container. `socket` itself is allowed by family below."""
_MESSAGES = (
    *("mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl"),
    *("msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt"),
    *("shmget", "getrandom"),
)
"""System V and POSIX messages in the container's own namespace; random numbers."""
_OLD_AIO = ("io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit")
"""Databases in tests. This is not io_uring."""

ALLOWED = (
    *(*_FILES, *_MEMORY, *_PROCESSES, *_SIGNALS_AND_TIME, *_WAITING, *_SOCKETS, *_MESSAGES, *_OLD_AIO),
)

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_FAMILIES = (1, 2, 10)
"""Unix, IPv4 and IPv6. Others are raw packets, the kernel's crypto and, above all, a virtual machine's
connection to its host."""
_NETLINK = 16
"""Node.js reads the interfaces through it."""
_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the terminal of another process."""
_PERSONALITIES = (0x0, 0x0008, 0x20000, 0x20008, 0xFFFFFFFF)
"""The ordinary ones, and the question which one is set. Others switch off protections of memory."""
_EPERM, _ENOSYS = 1, 38
_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}


def profile(machine: str) -> dict[str, Any]:
    # Only the native architecture: other architectures number their calls differently, and a call of one of
    # them ends the process.
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": _EPERM,
        "architectures": [_ARCHITECTURES[machine]],
        "syscalls": [
            _allowed([name for name in ALLOWED if name != "ioctl"]),
            _allowed(["clone"], 0, "SCMP_CMP_MASKED_EQ", _NEW_NAMESPACES, 0),
            # Its flags are behind a pointer, which a filter cannot read; every libc falls back to clone.
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
            *(_allowed(["socket"], 0, "SCMP_CMP_EQ", family) for family in (*_FAMILIES, _NETLINK)),
            *(
                _allowed(["ioctl"], 1, "SCMP_CMP_MASKED_EQ", mask, value)
                for mask, value in all_but(_TERMINAL)
            ),
            *(_allowed(["personality"], 0, "SCMP_CMP_EQ", value) for value in _PERSONALITIES),
        ],
    }


def all_but(values: Sequence[int], bit: int = 31, mask: int = 0, prefix: int = 0) -> list[tuple[int, int]]:
    """Masks and values that together match all numbers of 32 bits but these. A filter cannot say "not equal"
    about 32 bits of an argument of 64, and the kernel ignores the others."""
    if not values:
        return [(mask, prefix)]
    if bit < 0:
        return []
    found = []
    for digit in (0, 1 << bit):
        below = [value for value in values if value & (1 << bit) == digit]
        found += all_but(below, bit - 1, mask | 1 << bit, prefix | digit)
    return found


def _allowed(
    names: Sequence[str], index: int = 0, op: str = "", value: int = 0, two: int = 0
) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": list(names), "action": "SCMP_ACT_ALLOW"}
    if op:
        rule["args"] = [{"index": index, "value": value, "valueTwo": two, "op": op}]
    return rule
