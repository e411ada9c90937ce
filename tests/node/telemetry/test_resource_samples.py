"""The use of containers is measured from their control groups."""

from pathlib import Path

import pytest

from stead.node.containers import cgroups
from stead.node.containers.cgroups import Usage
from stead.node.drivers.driver import SiteContainer
from stead.node.telemetry.resource_samples import ResourceSource
from stead.node.telemetry.spool import Spool
from tests.node.telemetry.chunk_files import read_rows

FILES = {
    1: {
        "cpuacct/site/cpuacct.usage": "5000000000\n",
        "memory/site/memory.usage_in_bytes": "1000\n",
        "memory/site/memory.limit_in_bytes": "2000\n",
    },
    2: {
        "site/cpu.stat": "usage_usec 5000000\nuser_usec 1\n",
        "site/memory.current": "1000\n",
        "site/memory.max": "max\n",
    },
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


@pytest.mark.parametrize(("version", "limit"), [(1, 2000), (2, 0)])
def test_both_versions_of_control_groups_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, limit: int
) -> None:
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    write(tmp_path, FILES[version])
    assert cgroups.usage("/site") == Usage(5_000, 1_000, limit)
    assert cgroups.usage("/other") is None


def test_a_sample_contains_what_was_used_since_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "cgroup"
    monkeypatch.setattr(cgroups, "ROOT", root)
    spool = Spool(tmp_path / "telemetry")
    containers = [SiteContainer("env_1", "/site", "php"), SiteContainer("env_2", "/gone", "php")]
    source = ResourceSource(lambda: containers, spool)
    used = []
    for nanoseconds in (5_000_000_000, 7_000_000_000, 1_000_000_000):
        write(root, FILES[1] | {"cpuacct/site/cpuacct.usage": str(nanoseconds)})
        source.sample()
        chunk = spool.next_chunk()
        assert chunk is not None
        [row] = read_rows(chunk)
        used.append(row[3])
        spool.remove(chunk)
    # The container was started again before the last one.
    assert used == ["0", "2000", "1000"]
    source.sample_if_due()
    source.sample_if_due()
    chunk = spool.next_chunk()
    assert chunk is not None
    spool.remove(chunk)
    assert spool.next_chunk() is None
