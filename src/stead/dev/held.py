"""One stack for a whole test run, in a process of its own: pytest's controller holds it, workers attach."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stead.dev.engine import DevError, Engine
from stead.dev.running import running
from stead.dev.stack import ENGINES, Stack

READY = "ready"
STOP_BOUND = 60.0


@contextmanager
def held(data: Path, kinds: Sequence[type[Engine]] = ENGINES) -> Iterator[Stack]:
    """Engines that serve until the block is left or this process ends, whatever its end."""
    names = [kind.name for kind in kinds]
    holder = subprocess.Popen(
        [sys.executable, "-m", "stead.dev.held", str(data), *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is for the tests; their engines must last until the last of them has cleaned up.
        start_new_session=True,
    )
    assert holder.stdin is not None  # noqa: S101
    assert holder.stdout is not None  # noqa: S101
    try:
        if holder.stdout.readline().strip() != READY:
            raise DevError(holder.stdout.read().strip() or "the engines did not start")
        yield Stack.attach(data)
    finally:
        holder.stdin.close()
        holder.wait(STOP_BOUND)
        holder.stdout.close()


async def _hold(data: Path, names: Sequence[str]) -> None:
    kinds = [kind for kind in ENGINES if kind.name in names]
    async with running(data, kinds):
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        end = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(end), sys.stdin
        )
        await end.read()


def main() -> None:
    try:
        asyncio.run(_hold(Path(sys.argv[1]), sys.argv[2:]))
    except DevError as failure:
        # To the holder, who says it where the person can see it.
        sys.stdout.write(f"failed\n{failure}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
