"""A program runs without a shell, waits for its reader, and leaves no processes."""

import asyncio
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from stead.node.leftovers import end_leftovers, is_zombie
from stead.node.processes import TERMINATE_SECONDS, Processes, StreamName
from tests.patience import slowdown, time_limit

RUN = Processes("a-token").run
PARENT = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen(['/bin/sleep', '300'])\n"
    "print(child.pid, flush=True)\n"
)
STUBBORN = (
    "import os, signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print(os.getpid(), flush=True)\n"
    "time.sleep(300)\n"
)


@dataclass
class Heard:
    streams: dict[StreamName, bytes] = field(default_factory=lambda: {"stdout": b"", "stderr": b""})
    ended: list[StreamName] = field(default_factory=list)
    something: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, stream: StreamName, data: bytes) -> None:
        self.streams[stream] += data
        if not data:
            self.ended.append(stream)
        self.something.set()


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or is_zombie(pid)


async def test_output_and_exit_code_are_returned_and_no_shell_is_involved() -> None:
    heard = Heard()
    code = await RUN(["/bin/echo", "$HOME; `id` && *"], heard)
    assert (code, heard.streams["stdout"]) == (0, b"$HOME; `id` && *\n")
    assert sorted(heard.ended) == ["stderr", "stdout"]
    program = python("import sys; sys.stderr.write('why'); sys.exit(7)")
    assert (await RUN(program, heard), heard.streams["stderr"]) == (7, b"why")
    assert (
        await RUN(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), heard) == -signal.SIGKILL
    )


async def test_a_program_does_not_inherit_the_environment_of_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STEAD_NATS_PASSWORD", "hunter22")
    heard = Heard()
    await RUN(["/usr/bin/env"], heard, environment={"GIVEN": "yes"})
    names = {line.partition(b"=")[0] for line in heard.streams["stdout"].splitlines()}
    assert names == {b"PATH", b"LANG", b"GIVEN", b"STEAD_STARTED_BY"}


async def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await RUN([str(tmp_path / "nothing")], Heard())


async def test_a_cancelled_run_returns_after_the_whole_group_has_ended() -> None:
    heard = Heard()
    running = asyncio.create_task(RUN(python(PARENT + "time.sleep(300)"), heard))
    await heard.something.wait()
    grandchild = int(heard.streams["stdout"])
    parent = psutil.Process(grandchild).ppid()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended(parent)
    assert ended(grandchild)


async def test_a_program_that_ignores_sigterm_is_killed() -> None:
    heard, began = Heard(), time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await RUN(python(STUBBORN), heard)
    assert TERMINATE_SECONDS < time.monotonic() - began < (2 * TERMINATE_SECONDS + 1) * slowdown()


async def test_a_second_cancellation_does_not_interrupt_the_first() -> None:
    heard = Heard()
    running = asyncio.create_task(RUN(python(STUBBORN), heard))
    await heard.something.wait()
    child = int(heard.streams["stdout"])
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0.1)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended(child)


async def test_background_processes_end_with_the_program() -> None:
    heard, began = Heard(), time.monotonic()
    assert await RUN(python(PARENT), heard) == 0
    assert ended(int(heard.streams["stdout"]))
    assert time.monotonic() - began < 10 * slowdown()


async def test_a_daemon_that_keeps_the_pipe_open_does_not_block_the_command(tmp_path: Path) -> None:
    heard = Heard()
    daemon = PARENT.replace("'300']", "'300'], start_new_session=True")
    async with time_limit(15):
        assert await RUN(python(daemon), heard) == 0
    assert end_leftovers("a-token") == 1
    assert ended(int(heard.streams["stdout"]))


async def test_a_slow_reader_slows_the_program_down_without_using_memory() -> None:
    endless = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    taken = 0

    async def slow(_: StreamName, data: bytes) -> None:
        nonlocal taken
        taken += len(data)
        await asyncio.sleep(0.05)

    before = psutil.Process().memory_info().rss
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await RUN(python(endless), slow)
    assert 0 < taken < 10 * 1024 * 1024
    assert psutil.Process().memory_info().rss - before < 20 * 1024 * 1024


async def test_a_reader_that_fails_ends_the_program() -> None:
    pids: list[int] = []

    async def broken(_: StreamName, data: bytes) -> None:
        pids.append(int(data))
        raise LookupError

    with pytest.raises(ExceptionGroup):
        await RUN(python(PARENT + "time.sleep(300)"), broken)
    assert ended(pids[0])


async def test_only_processes_of_the_same_agent_are_leftovers() -> None:
    mine = await asyncio.create_subprocess_exec("/bin/sleep", "300", env={"STEAD_STARTED_BY": "me"})
    other = await asyncio.create_subprocess_exec("/bin/sleep", "300", env={"STEAD_STARTED_BY": "me-too"})
    assert await asyncio.to_thread(end_leftovers, "me") == 1
    assert await mine.wait() == -signal.SIGKILL
    assert other.returncode is None
    other.kill()
    await other.wait()
