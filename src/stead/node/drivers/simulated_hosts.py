"""Which simulated environment answers which host."""

from collections.abc import Collection
from pathlib import Path

import msgspec
import structlog

from stead.node.drivers import layout

log = structlog.get_logger()


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
            content = (directory / host).read_bytes()
            try:
                record = msgspec.json.decode(content, type=_Record)
            except msgspec.DecodeError:
                # Simulated sites must not keep the agent of live sites from starting. The host is free again.
                log.warning("simulator.host_unreadable", host=host)
                self.remove(host)
            else:
                self._remember(host, record.environment)

    def find_environment(self, host: str) -> str | None:
        return self._environments.get(host)

    def list_hosts(self, environment: str) -> Collection[str]:
        return frozenset(self._hosts.get(environment, ()))

    def add(self, host: str, environment: str) -> None:
        """Route a host to an environment. If another one had it, it no longer has."""
        known = self.find_environment(host)
        if known == environment:
            return
        try:
            layout.write_file(self._directory / host, msgspec.json.encode(_Record(environment)), mode=0o600)
        except OSError:
            # It may have been written. The next agent must not know more than this one.
            self.remove(host)
            raise
        if known is not None:
            self._hosts[known].discard(host)
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
