"""The log of a build masks secrets, and leaves the agent time for others while it does."""

import asyncio
import time
from datetime import UTC, datetime

from stead.control.secrets.rules import LINE_COST, MAX_TOTAL_BYTES
from stead.node.builds.log import PIECE_BYTES, SHORTEST_LINE, BuildLog, secrets_of
from stead.protocol.work.builds import ArchiveSource, Build
from tests.node.builds.build_harness import CapturedOutput

CHUNKS, PIECES = 2, 64 * 1024 // PIECE_BYTES


def build(**variables: str) -> Build:
    return Build(
        "static", ArchiveSource("https://store/upload"), "https://store/layer", tuple(variables.items())
    )


def new_log(wanted: Build) -> tuple[BuildLog, CapturedOutput]:
    said = CapturedOutput()
    return BuildLog(said, secrets_of(wanted), lambda: datetime.now(UTC)), said


async def test_each_line_of_a_secret_is_masked_unless_it_is_very_short() -> None:
    log, said = new_log(build(KEY="BEGIN KEY\nline-of-the-key\nab12\nEND"))
    await log.sink("stdout", b"line-of-the-key\nEND of ab12\n")
    await log.say("BEGIN KEY\nline-of-the-key\nab12\nEND")
    assert [line.partition("build")[2] for line in said.lines] == [" | •••", " | END of ab12", ": •••"]


async def test_masking_leaves_most_of_the_time_to_others_however_many_secrets_there_are() -> None:
    lines = MAX_TOTAL_BYTES // (LINE_COST + SHORTEST_LINE + 1)
    log, said = new_log(build(KEY="\n".join(f"{number:0{SHORTEST_LINE}}" for number in range(lines))))
    stalls = []

    async def others() -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            stalls.append(time.thread_time() - began)

    waiting = asyncio.create_task(others())
    at = time.monotonic()
    for _ in range(CHUNKS):
        await log.sink("stdout", b"0123456 " * 8 * 1024)
    elapsed = time.monotonic() - at
    waiting.cancel()
    used = sum(sorted(stalls)[-CHUNKS * PIECES :])
    assert used / elapsed < 0.5, "masking does not take the whole time"
    assert max(stalls) < used / PIECES * 4, "and others get their turn within each chunk"
    assert said.lines
