"""The ledger has a line for every request, and none is lost in a rotation."""

import asyncio
import json

from stead.edge.ledger import rotate_ledger
from tests.edge.edge_harness import EdgeHarness

ROTATIONS = 25
READERS = 4


async def test_a_ledger_line_describes_the_request(edge: EdgeHarness) -> None:
    await edge.site("ledger.test", "ledger", {"page.html": "hello"})
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {
        "user-agent": 'a "quoted" \x1b agent' + "y" * 400,
        "traceparent": f"00-{trace}-00f067aa0ba902b7-01",
        "referer": "https://private.example/secret",
    }
    await edge.get("ledger.test", "/page?token=secret", headers=headers)
    line = await edge.ledgered("/page")
    assert line["site"] == "site_ledger"
    assert line["environment"] == "env_ledger"
    assert line["release"] == "rel-ledger"
    assert (line["host"], line["method"], line["status"]) == ("ledger.test", "GET", 200)
    assert line["trace"] == trace
    assert line["address"] == "127.0.0.0"
    assert (line["cache"], line["waf"], line["tls"], line["peer"]) == ("", "", "", "")
    assert line["bytes_out"] > 5
    assert line["bytes_in"] > 50
    assert line["time"] >= 0
    assert line["ts"] > 1_500_000_000
    assert line["agent"].startswith('a "quoted"')
    assert len(line["agent"]) <= 256
    assert "secret" not in json.dumps(line)


async def test_no_line_is_lost_when_the_ledger_is_rotated(edge: EdgeHarness) -> None:
    await edge.site("rotated.test", "rotated", {"index.html": "x"})
    await rotate_ledger(edge.ledger, edge.pid)
    done = asyncio.Event()
    sent = 0

    async def visit(number: int) -> None:
        nonlocal sent
        while not done.is_set():
            assert (await edge.get("rotated.test", f"/?r{number}")).status_code == 200
            sent += 1

    async def take() -> list[str]:
        lines: list[str] = []
        for _ in range(ROTATIONS):
            await asyncio.sleep(0.05)
            lines += (await rotate_ledger(edge.ledger, edge.pid)).read_text().splitlines()
        done.set()
        return lines

    async with asyncio.TaskGroup() as tasks:
        for number in range(READERS):
            tasks.create_task(visit(number))
        taken = tasks.create_task(take())
    lines = taken.result() + (await rotate_ledger(edge.ledger, edge.pid)).read_text().splitlines()
    assert sent > ROTATIONS
    assert [json.loads(line)["host"] for line in lines] == ["rotated.test"] * sent
