"""A tenant next to an attacker: its pages are visited and its releases are switched all the time."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field

from stead.dev.supervised_program import LOOPBACK
from stead.edge.admin import EdgeAdmin
from tests.edge.edge_harness import EdgeHarness
from tests.percentiles import p99

ROUNDS = 300
VISITS_PER_CHANGE = 5


@dataclass
class EdgeNeighbour:
    edge: EdgeHarness
    host: str = "neighbour.test"
    visits: list[float] = field(default_factory=list)
    changes: int = 0

    @classmethod
    async def move_in(cls, edge: EdgeHarness) -> "EdgeNeighbour":
        made = cls(edge)
        await edge.site(made.host, "neighbour", {"index.html": "0"})
        return made

    async def endure(self, attack: Awaitable[object]) -> str:
        """Live next to the attack. Fails if a visitor gets an error or an old page, or if a change fails.

        Returns the figures to print.
        """
        usual = await self._live(ROUNDS)
        attacking = asyncio.ensure_future(attack)
        try:
            during = await self._live(ROUNDS, attacking)
        finally:
            if not attacking.done():
                attacking.cancel()
        await attacking
        after = await self._live(ROUNDS)
        return (
            f"neighbour: {len(usual + during + after)} visits and {self.changes} changes without a failure;"
            f" p99 {p99(during) / p99(usual):.1f} times the usual during the attack,"
            f" {p99(after) / p99(usual):.1f} times after it"
        )

    async def _live(self, rounds: int, attacking: "asyncio.Future[object] | None" = None) -> list[float]:
        """Visit for so many rounds, and until the attack ends."""
        seconds: list[float] = []
        async with EdgeAdmin(self.edge.run / "private" / "admin.sock") as admin:
            reader, writer = await asyncio.open_connection(LOOPBACK, self.edge.port)
            try:
                while len(seconds) < rounds or (attacking is not None and not attacking.done()):
                    if len(seconds) % VISITS_PER_CHANGE == 0:
                        await self._change(admin)
                    started = time.perf_counter()
                    writer.write(f"GET / HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
                    head = await reader.readuntil(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 200 "), head
                    length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
                    body = await reader.readexactly(length)
                    seconds.append(time.perf_counter() - started)
                    assert body.decode() == str(self.changes), "an old page"
                    # Leaves time to the attacker, who is in the same process.
                    await asyncio.sleep(0.001)
            finally:
                writer.close()
        return seconds

    async def _change(self, admin: EdgeAdmin) -> None:
        self.changes += 1
        release = self.edge.release(f"neighbour-{self.changes}", {"index.html": str(self.changes)})
        value = {"site": "site_neighbour", "node": self.edge.node, "release": release}
        answer = await admin.apply([self.edge.line("environment", "env_neighbour", value)])
        assert answer.skipped == ()
