"""Simulated routes and probes."""

from collections.abc import Collection, Sequence
from typing import Any

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.drivers.simulation import Simulation
from stead.protocol.work.hosting import EnsureRoute, Probe, RemoveRoute


class SimulatedEdge(Driver):
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureRoute, self.ensure_route),
            Handler(RemoveRoute, self.remove_route),
            Handler(Probe, self.probe, ("", "cms")),
        ]

    async def ensure_route(self, task: Assignment, work: EnsureRoute) -> None:
        """A host that another environment answers is refused, and nothing changes."""
        wanted = {layout.check_host(host) for host in work.hosts}
        environment = layout.check_identifier(task.environment)
        await self._simulation.simulate(EnsureRoute, task, work.hosts)
        for host in sorted(wanted):
            if self._simulation.hosts.find_environment(host) not in {None, environment}:
                raise Refusal("route.taken", f"{host} is answered by another environment")
        for host in wanted:
            self._simulation.hosts.add(host, environment)
        self._remove_hosts(environment, but=wanted)

    async def remove_route(self, task: Assignment, _: RemoveRoute) -> None:
        environment = layout.check_identifier(task.environment)
        await self._simulation.simulate(RemoveRoute, task)
        self._remove_hosts(environment)

    async def probe(self, task: Assignment, wanted: Probe) -> None:
        host, path, status = layout.check_host(wanted.host), wanted.path, wanted.status
        await self._simulation.simulate(Probe, task, [host])
        environment = self._simulation.hosts.find_environment(host)
        if environment is None or not self._simulation.has_environment(environment):
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered 404 (simulated)")
        if wanted.release and not (self._simulation.releases / layout.release_name(wanted.release)).exists():
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered 503 (simulated)")
        await task.output.say(f"probe: GET {path} of {host} would be answered {status or 200} (simulated)")

    def _remove_hosts(self, environment: str, but: Collection[str] = ()) -> None:
        for host in self._simulation.hosts.list_hosts(environment):
            if host not in but:
                self._simulation.hosts.remove(host)
