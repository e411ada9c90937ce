"""The ledger has a line for every request, and none is lost in a rotation."""

import asyncio
import json
import os
from pathlib import Path

from stead.edge.ledger import rotate_ledger
from stead.node.ledger_rotation import LedgerRotation
from stead.node.visits import LedgerReader
from tests.edge.edge_harness import EdgeHarness
from tests.patience import time_limit

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


async def test_a_large_ledger_is_rotated_and_old_ones_are_removed(edge: EdgeHarness) -> None:
    """Every visit is reported once, whichever file its line is in."""
    pid_file = edge.run / "nginx.pid"
    rotation = LedgerRotation(edge.ledger, pid_file, max_bytes=2_000, kept=2)
    reader, visited = LedgerReader(edge.ledger), set[str]()
    rotations = visits = 0
    # nginx writes what it has collected once per second.
    async with time_limit(60.0):
        while rotations < 2 or visits < 60:
            name = f"turn{visits}"
            await edge.site(f"{name}.test", name, {"index.html": "x"})
            await edge.get(f"{name}.test")
            visits += 1
            visited |= reader.read_new().keys()
            if (rotated := await rotation.rotate_if_due()) is not None:
                rotations += 1
                visited |= reader.read_rest(rotated).keys()
                rotation.remove_old()
    rest = await LedgerRotation(edge.ledger, pid_file, max_bytes=-1).rotate_if_due()
    assert rest is not None
    visited |= reader.read_rest(rest).keys()
    assert len(list(edge.ledger.parent.glob("ledger.*.json"))) <= 3
    assert visited >= {f"env_turn{number}" for number in range(visits)}


async def test_a_ledger_is_not_rotated_when_its_nginx_is_gone(edge: EdgeHarness, tmp_path: Path) -> None:
    """The pid in the file may be that of another process by now, which a signal would end."""
    pid_file = tmp_path / "nginx.pid"
    for pid in (str(os.getpid()), "4194304", "", "nonsense"):
        pid_file.write_text(pid)
        assert await LedgerRotation(edge.ledger, pid_file, max_bytes=-1).rotate_if_due() is None
    assert await LedgerRotation(edge.ledger, tmp_path / "none", max_bytes=-1).rotate_if_due() is None
    assert edge.ledger.exists()
