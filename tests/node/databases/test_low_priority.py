"""What copies a database does not slow down those who use it."""

import os

from stead.node.databases.dumps import LOW_PRIORITY
from stead.node.processes import Processes, StreamName


async def test_programs_that_copy_have_a_low_priority() -> None:
    said = bytearray()

    async def collect(_: StreamName, data: bytes) -> None:
        said.extend(data)

    run = Processes("priority-tests").run
    niceness = min(os.nice(0) + 10, 19)
    for program, expected in (("nice", b"%d" % niceness), ("ionice", b"idle")):
        said.clear()
        assert await run([*LOW_PRIORITY, program], collect) == 0
        assert said.strip() == expected
