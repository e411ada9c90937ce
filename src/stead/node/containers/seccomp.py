"""The system calls that a container may not make. Customers' programs need many (compilers, bundlers, test
runners), so this is a list of those that they never need and that kernels were attacked with. Namespaces and
dropped capabilities block most of them a second time."""

from collections.abc import Sequence
from typing import Any

_REFUSED = (
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig"),
    *("fspick", "mount_setattr", "unshare", "setns", "swapon", "swapoff", "quotactl", "quotactl_fd", "acct"),
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "lookup_dcookie"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog"),
    *("open_by_handle_at", "name_to_handle_at", "fanotify_init", "settimeofday", "clock_settime", "adjtimex"),
    *("clock_adjtime", "stime", "sethostname", "setdomainname", "personality", "mbind", "set_mempolicy"),
    *("migrate_pages", "move_pages", "vhangup", "nfsservctl", "iopl", "ioperm", "modify_ldt", "uselib"),
)
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}


def profile(machine: str) -> dict[str, Any]:
    # Only the native architecture: other architectures number their calls differently, and a call of one of
    # them ends the process.
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [_ARCHITECTURES[machine]],
        "syscalls": [
            _refused(_REFUSED, _EPERM),
            *(
                _refused(["clone"], _EPERM, 0, "SCMP_CMP_MASKED_EQ", bit, bit)
                for bit in (1 << place for place in range(32))
                if bit & _NEW_NAMESPACES
            ),
            # Its flags are behind a pointer, which a filter cannot read; every libc falls back to clone.
            _refused(["clone3"], _ENOSYS),
            # Raw packets, the kernel's crypto and, above all, a virtual machine's connection to its host.
            _refused(["socket"], _EAFNOSUPPORT, 0, "SCMP_CMP_GT", _NETLINK),
            *(
                _refused(["socket"], _EAFNOSUPPORT, 0, "SCMP_CMP_EQ", family)
                for family in range(_NETLINK)
                if family not in (_UNIX, _INET, _INET6)
            ),
            _refused(["ioctl"], _EPERM, 1, "SCMP_CMP_MASKED_EQ", 0xFFFFFFFF, 0x5412),  # TIOCSTI
        ],
    }


def _refused(
    names: Sequence[str],
    number: int,
    index: int = 0,
    op: str = "",
    value: int = 0,
    two: int = 0,
) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": number}
    if op:
        rule["args"] = [{"index": index, "value": value, "valueTwo": two, "op": op}]
    return rule
