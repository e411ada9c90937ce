"""Control groups of the second version, in a directory with files of the same names."""

import subprocess
from pathlib import Path

import pytest

from stead.node.containers import cgroups, join_group
from stead.node.containers.limits import ContainerLimits

LIMITS = ContainerLimits(memory_mb=64, processes=8, cpus=1.0, cpu_shares=32)
CONTROLLERS = "cgroup.subtree_control"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("has_processes", [True, False])
def test_a_group_passes_controllers_on_only_if_it_has_no_processes(tree: Path, has_processes: bool) -> None:
    cgroups.make("/stead-group", LIMITS, has_processes=has_processes)
    assert (tree / "stead-group" / "memory.max").read_text() == str(64 << 20)
    # The kernel adds each value that is written; a file has the last one.
    assert (tree / "stead-group" / CONTROLLERS).read_text() == ("-pids" if has_processes else "+pids")


def test_a_program_joins_a_group_before_it_begins(tmp_path: Path) -> None:
    groups = [tmp_path / "memory", tmp_path / "cpu", tmp_path / "none" / "pids"]
    argv = [*join_group.build_argv(groups), "cat", *map(str, groups[:2])]
    said = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert said.stdout == "00"
