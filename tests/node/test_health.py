"""Health checks of a node."""

import httpx
import pytest

from stead.dev.ports import reserve_ports
from stead.node.health import serve_health


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/healthz", "ready", 200), ("/readyz", "ready", 200), ("/readyz", "down", 503)],
)
async def test_a_node_answers_health_checks(path: str, status: str, code: int) -> None:
    (port,) = reserve_ports(1)
    async with (
        serve_health("127.0.0.1", port, lambda: {"status": status, "failing_tasks": {"a": "KeyError"}}),
        httpx.AsyncClient() as client,
    ):
        answer = await client.get(f"http://127.0.0.1:{port}{path}")
        assert answer.status_code == code
        if path == "/readyz":
            assert answer.json()["failing_tasks"] == {"a": "KeyError"}
        assert (await client.get(f"http://127.0.0.1:{port}/other")).status_code == 404


async def test_a_node_without_a_port_answers_none() -> None:
    async with serve_health("127.0.0.1", 0, dict) as port:
        assert port == 0
