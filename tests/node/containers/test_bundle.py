"""The configuration for runc gives a container nothing that it does not need."""

from pathlib import Path

import pytest

from stead.node.containers.bundle import BindMount, ContainerProcess, configuration
from stead.node.containers.limits import ContainerLimits
from stead.node.containers.seccomp import ALLOWED, all_but, profile


def test_a_container_gets_nothing_it_does_not_need() -> None:
    mounts = (BindMount(Path("/x"), "/y"), BindMount(Path("/v"), "/w", writable=True))
    process = ContainerProcess(("npm", "ci"), {"A": "b"}, "/work/src", mounts)
    made = [
        configuration(
            process,
            root=Path("/image"),
            hostname="build",
            cgroup="/stead-build-1",
            first_uid=1 << 28,
            user=1000,
            limits=ContainerLimits(memory_mb=64, processes=32, cpus=0.5),
            open_files=1024,
            machine="x86_64",
        )
        for _ in range(2)
    ]
    it = made[0]
    assert it == made[1]
    program, linux = it["process"], it["linux"]
    assert program["noNewPrivileges"] is True
    assert set(map(len, program["capabilities"].values())) == {0}
    assert program["user"]["uid"] != 0
    assert program["env"] == ["A=b"]
    assert it["root"]["readonly"] is True
    assert {each["type"] for each in linux["namespaces"]} == {
        *("user", "pid", "mount", "network", "ipc", "uts", "cgroup")
    }
    assert all("path" not in each for each in linux["namespaces"])
    assert (
        linux["uidMappings"]
        == linux["gidMappings"]
        == [{"containerID": 0, "hostID": 1 << 28, "size": 1 << 16}]
    )
    limits = linux["resources"]
    assert limits["memory"] == {"limit": 64 << 20, "swap": 64 << 20}
    assert (limits["pids"]["limit"], limits["cpu"]["quota"]) == (32, 50_000)
    assert limits["devices"] == [{"allow": False, "access": "rwm"}]
    writable = [each["destination"] for each in it["mounts"] if "rw" in each.get("options", [])]
    assert writable == ["/w"]
    assert all("nosuid" in each["options"] for each in it["mounts"] if each["type"] != "proc")


@pytest.mark.parametrize("excluded", [(0x5412,), (0x5412, 0x541C), (0,), (0xFFFFFFFF, 0)])
def test_masks_match_all_numbers_but_the_excluded_ones(excluded: tuple[int, ...]) -> None:
    rules = all_but(excluded)
    near = {value ^ (1 << bit) for value in excluded for bit in range(32)} - set(excluded)
    for value in near:
        assert any(value & mask == wanted for mask, wanted in rules), hex(value)
    for value in excluded:
        assert not any(value & mask == wanted for mask, wanted in rules), hex(value)


def test_only_listed_system_calls_are_allowed() -> None:
    rules = profile("x86_64")
    assert rules["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {
        name for rule in rules["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]
    }
    dangerous = {
        *("mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "bpf", "perf_event_open", "keyctl"),
        *("add_key", "request_key", "userfaultfd", "io_uring_setup", "io_uring_enter", "ptrace", "kcmp"),
        *(
            "process_vm_readv",
            "process_vm_writev",
            "pidfd_getfd",
            "init_module",
            "finit_module",
            "kexec_load",
        ),
        *("open_by_handle_at", "name_to_handle_at", "fanotify_init", "clock_settime", "settimeofday"),
        *("reboot", "syslog", "swapon", "quotactl", "acct", "iopl", "ioperm", "modify_ldt", "mbind"),
    }
    assert not allowed & dangerous
    unconditional = {
        name
        for rule in rules["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
        for name in rule["names"]
    }
    assert not unconditional & {"clone", "clone3", "socket", "ioctl", "personality"}
    assert len(ALLOWED) == len(set(ALLOWED))


def test_a_container_has_a_small_share_of_a_busy_disk_where_the_kernel_has_weights() -> None:
    def resources(weight: int) -> dict[str, object]:
        made = configuration(
            ContainerProcess(("true",)),
            root=Path("/image"),
            hostname="build",
            cgroup="/stead-build-1",
            first_uid=1 << 28,
            user=1000,
            limits=ContainerLimits(io_weight=weight),
            open_files=1024,
            machine="x86_64",
        )
        found: dict[str, object] = made["linux"]["resources"]
        return found

    assert resources(50)["blockIO"] == {"weight": 50}
    assert "blockIO" not in resources(0)
