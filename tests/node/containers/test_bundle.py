"""The configuration for runc gives a container nothing that it does not need."""

from pathlib import Path

from stead.node.containers.bundle import BindMount, ContainerProcess, configuration
from stead.node.containers.limits import ContainerLimits


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
