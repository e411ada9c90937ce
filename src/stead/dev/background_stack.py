"""Runs a stack in a separate process, so that several processes of a test run can attach to it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stead.dev.engines import CORE_ENGINES, ENGINES
from stead.dev.errors import DevError
from stead.dev.running_stack import run_stack
from stead.dev.stack import Stack
from stead.dev.supervised_program import SupervisedProgram

READY = "ready"
STOP_TIMEOUT = 60.0


@contextmanager
def run_stack_in_background(
    data: Path, kinds: Sequence[type[SupervisedProgram]] = CORE_ENGINES
) -> Iterator[Stack]:
    """Runs the engines until the end of the block, or until this process ends in any way."""
    names = [kind.name for kind in kinds]
    background = subprocess.Popen(
        [sys.executable, "-m", "stead.dev.background_stack", str(data), *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C must only reach the tests: they need the engines until the last one has cleaned up.
        start_new_session=True,
    )
    assert background.stdin is not None  # noqa: S101
    assert background.stdout is not None  # noqa: S101
    try:
        if background.stdout.readline().strip() != READY:
            raise DevError(background.stdout.read().strip() or "the engines did not start")
        yield Stack.attach(data)
    finally:
        background.stdin.close()
        background.wait(STOP_TIMEOUT)
        background.stdout.close()


async def _run_until_input_closes(data: Path, names: Sequence[str]) -> None:
    kinds = [kind for kind in ENGINES if kind.name in names]
    async with run_stack(data, kinds):
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        stdin = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin
        )
        await stdin.read()


def main() -> None:
    try:
        asyncio.run(_run_until_input_closes(Path(sys.argv[1]), sys.argv[2:]))
    except DevError as failure:
        # The parent process reads it and raises it where the user can see it.
        sys.stdout.write(f"failed\n{failure}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
