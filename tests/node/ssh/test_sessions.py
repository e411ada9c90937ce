import asyncio
from pathlib import Path
from typing import Any, cast

from stead.node.access.table import AccessTable
from stead.node.ssh.sessions import SshSessions
from stead.protocol.work.access import SetAccess
from tests.node.harness import until


class SlowVisitor:
    """Somebody whose programs end only when `ended` is set."""

    def __init__(self) -> None:
        self.admitted, self.expelled, self.ended = True, 0, asyncio.Event()

    def is_admitted(self) -> bool:
        return self.admitted

    async def expel(self, _reason: str) -> None:
        self.expelled += 1
        await self.ended.wait()


async def test_a_program_that_does_not_end_does_not_delay_the_next_revocation(tmp_path: Path):
    access = AccessTable(tmp_path / "access.sqlite")
    sessions = SshSessions(access, cast("Any", None), tmp_path / "ssh", 1000, lambda *_: None)
    visitors = [SlowVisitor(), SlowVisitor()]
    for each in visitors:
        sessions._visitors[cast("Any", each)] = asyncio.create_task(cast("Any", each.ended.wait()))
    watching = asyncio.create_task(sessions._watch_admissions())
    try:
        for number, each in enumerate(visitors, 1):
            each.admitted = False
            assert access.replace("env_1", "site_1", SetAccess(number, "shop"))

            async def expelled(visitor: SlowVisitor = each) -> bool | None:
                return visitor.expelled > 0 or None

            await until(expelled)
        assert [each.expelled for each in visitors] == [1, 1]
    finally:
        watching.cancel()
        for each in visitors:
            each.ended.set()
        await asyncio.wait([watching, *sessions._visitors.values()])
        access.close()
