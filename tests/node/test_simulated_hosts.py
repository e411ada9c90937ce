"""The hosts of simulated environments are read from their files once."""

from pathlib import Path

import pytest

from stead.node.drivers import layout
from stead.node.drivers.simulated_hosts import SimulatedHosts


@pytest.fixture
def hosts(tmp_path: Path) -> SimulatedHosts:
    hosts = SimulatedHosts(tmp_path)
    hosts.add("a.example.com", "env_a")
    hosts.add("b.example.com", "env_b")
    hosts.add("www.a.example.com", "env_a")
    return hosts


def test_hosts_are_known_to_the_next_agent(hosts: SimulatedHosts, tmp_path: Path):
    for known in (hosts, SimulatedHosts(tmp_path)):
        assert known.find_environment("b.example.com") == "env_b"
        assert known.find_environment("other.example.com") is None
        assert known.list_hosts("env_a") == {"a.example.com", "www.a.example.com"}
        assert known.list_hosts("env_other") == frozenset()


def test_a_removed_host_does_not_come_back(hosts: SimulatedHosts, tmp_path: Path):
    hosts.remove("a.example.com")
    hosts.remove("a.example.com")
    hosts.remove("b.example.com")
    for known in (hosts, SimulatedHosts(tmp_path)):
        assert known.list_hosts("env_a") == {"www.a.example.com"}
        assert known.list_hosts("env_b") == frozenset()
        assert known.find_environment("a.example.com") is None
    hosts.add("a.example.com", "env_b")
    assert SimulatedHosts(tmp_path).list_hosts("env_b") == {"a.example.com"}


def test_a_host_that_leads_there_already_is_not_written_again(hosts: SimulatedHosts, tmp_path: Path):
    written = (tmp_path / "a.example.com").stat().st_ino
    hosts.add("a.example.com", "env_a")
    assert (tmp_path / "a.example.com").stat().st_ino == written


def test_a_damaged_file_is_removed_when_the_agent_starts(hosts: SimulatedHosts, tmp_path: Path):
    (tmp_path / "c.example.com").write_text("{")
    known = SimulatedHosts(tmp_path)
    assert known.find_environment("c.example.com") is None
    assert known.list_hosts("env_a") == hosts.list_hosts("env_a")
    assert not (tmp_path / "c.example.com").exists()


def test_a_host_that_could_not_be_written_is_free(
    hosts: SimulatedHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: Path) -> None:
        raise OSError

    monkeypatch.setattr(layout, "sync_directory", fail)
    for host in ("a.example.com", "new.example.com"):
        with pytest.raises(OSError):
            hosts.add(host, "env_b")
        for known in (hosts, SimulatedHosts(tmp_path)):
            assert known.find_environment(host) is None
            assert known.list_hosts("env_b") == {"b.example.com"}


def test_a_host_that_has_moved_stays_when_its_former_environment_ends(hosts: SimulatedHosts, tmp_path: Path):
    hosts.add("a.example.com", "env_b")
    for host in hosts.list_hosts("env_a"):
        hosts.remove(host)
    for known in (hosts, SimulatedHosts(tmp_path)):
        assert known.list_hosts("env_a") == frozenset()
        assert known.list_hosts("env_b") == {"a.example.com", "b.example.com"}


def test_a_file_that_was_being_written_is_no_host(hosts: SimulatedHosts, tmp_path: Path):
    (tmp_path / ".c.example.com.tmp").write_text("{")
    assert SimulatedHosts(tmp_path).list_hosts("env_a") == hosts.list_hosts("env_a")
