"""One edge node: an agent and an nginx in their own network namespace, started like by an operator."""

import json
import sys
from typing import Any

from stead.dev.running_stack import RunningStack
from stead.edge.settings import EdgeSettings, check_paths
from tests.edges.network import Namespace
from tests.edges.wire import Wire
from tests.faults.jobs.programs import Program, until

STEADCTL = (sys.executable, "-m", "stead.steadctl")
PORT = 8080


class Machine:
    def __init__(
        self, stack: RunningStack, node: str, namespace: Namespace, wire: Wire, nats_address: str
    ) -> None:
        self.id, self.namespace, self.wire = node, namespace, wire
        self.data = stack.directory.home(node)
        self.address = f"{namespace.address}:{PORT}"
        agent = stack.node_environment(node, self.data) | {
            "STEAD_NATS_URL": f"nats://{nats_address}",
            "STEAD_EDGE_ADDRESS": self.address,
        }
        edge = {
            "STEAD_NODE_ID": node,
            "STEAD_NODE_DATA": str(self.data),
            "STEAD_EDGE_HTTP": self.address,
            "STEAD_EDGE_USER": "www-data",
            "STEAD_EDGE_WORKERS": "1",
            "STEAD_EDGE_CONNECTIONS": "1024",
            "STEAD_EDGE_CACHE": "64",
        }
        check_paths(EdgeSettings(node_id=node, data=str(self.data), run=str(self.data / "run")))
        logs = stack.directory.logs
        self.agent = Program([*namespace.inside, *STEADCTL, "node"], agent, logs / f"{node}.log")
        self.nginx = Program([*namespace.inside, *STEADCTL, "edge"], edge, logs / f"{node}-nginx.log")

    def start(self) -> None:
        self.data.mkdir(exist_ok=True)
        # The workers of nginx run as another user and must be able to enter.
        self.data.chmod(0o711)
        for program in (self.nginx, self.agent):
            if not program.is_running:
                program.start()

    async def kill(self) -> None:
        await self.nginx.kill()
        await self.agent.kill()

    def write_release(self, name: str, page: str) -> None:
        """Write a complete release, readable for the edge, like a deployment does."""
        release = self.data / "releases" / name
        release.mkdir(parents=True)
        release.chmod(0o755)
        (release / "index.html").write_text(page)
        (release / "index.html").chmod(0o644)

    async def visits(self, path: str, *, host: str, at_least: int) -> list[dict[str, Any]]:
        """Wait for the log lines of visits to this path. nginx buffers lines for up to a second."""

        async def logged() -> list[dict[str, Any]] | None:
            found = [visit for visit in self._ledger() if (visit["path"], visit["host"]) == (path, host)]
            return found if len(found) >= at_least else None

        return await until(logged, f"{self.id} has logged {at_least} visits")

    def _ledger(self) -> list[dict[str, Any]]:
        lines = (self.data / "run" / "ledger.json").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]
