"""Which simulated environment answers which host."""

from collections.abc import Collection
from pathlib import Path

import msgspec

from stead.node.drivers import layout


class _Record(msgspec.Struct, frozen=True):
    environment: str


class SimulatedHosts:
    """A directory with a file for each host. The files are read once, when the agent starts: a node has many
    hosts, and all simulated work asks which ones an environment has."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._environments: dict[str, str] = {}
        self._hosts: dict[str, set[str]] = {}
        for host in layout.list_names(directory):
            record = msgspec.json.decode((directory / host).read_bytes(), type=_Record)
            self._remember(host, record.environment)

    def environment_of(self, host: str) -> str | None:
        return self._environments.get(host)

    def of(self, environment: str) -> Collection[str]:
        return frozenset(self._hosts.get(environment, ()))

    def add(self, host: str, environment: str) -> None:
        """Let the environment answer a host that none answers yet, or that it answers already."""
        if self.environment_of(host) == environment:
            return
        layout.write_file(self._directory / host, msgspec.json.encode(_Record(environment)), mode=0o600)
        self._remember(host, environment)

    def remove(self, host: str) -> None:
        (self._directory / host).unlink(missing_ok=True)
        environment = self._environments.pop(host, "")
        hosts = self._hosts.get(environment, set())
        hosts.discard(host)
        if not hosts:
            self._hosts.pop(environment, None)

    def _remember(self, host: str, environment: str) -> None:
        self._environments[host] = environment
        self._hosts.setdefault(environment, set()).add(host)
