"""What runc is told: nothing but what a build needs."""

from pathlib import Path

from stead.node.builds.bundle import Bind, Stage, configuration
from stead.node.builds.caps import Caps


def test_the_configuration_gives_a_build_nothing_it_does_not_need() -> None:
    stage = Stage(
        ("npm", "ci"), {"A": "b"}, binds=(Bind(Path("/x"), "/y"), Bind(Path("/v"), "/w", writable=True))
    )
    made = [
        configuration(
            stage,
            root=Path("/image"),
            cgroup="/stead-build-1",
            uid=1 << 28,
            caps=Caps(memory_mb=64, processes=32, cpus=0.5),
            open_files=1024,
            machine="x86_64",
        )
        for _ in range(2)
    ]
    it = made[0]
    assert it == made[1]
    process, linux = it["process"], it["linux"]
    assert process["noNewPrivileges"] is True
    assert set(map(len, process["capabilities"].values())) == {0}
    assert process["user"]["uid"] != 0
    assert process["env"] == ["A=b"]
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
