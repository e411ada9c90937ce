"""Children are kept alive while they are wanted, and nothing of them is left when they are not."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from stead.dev.child import Condition, State
from stead.dev.directory import DataDirectory
from stead.dev.engine import LOOPBACK, DevError, ProgramMissing
from stead.dev.identity import ProcessId
from stead.dev.leftovers import gone
from stead.dev.ports import TWIN, Claims, free
from stead.dev.running import AlreadyRunning, RunningStack, running
from stead.dev.seaweedfs import SOCKETS
from stead.dev.stack import ENGINES, PORTS, Nats, Postgres, Redis, SeaweedFS, Temporal

BOUND = 30.0


def family(stack: RunningStack) -> list[ProcessId]:
    """Every process of the stack, those its engines started included."""
    pids = [it.process.pid for it in stack.supervisor.conditions if it.process is not None]
    everyone = [*pids, *(child.pid for pid in pids for child in psutil.Process(pid).children(recursive=True))]
    return [process for process in map(ProcessId.of, everyone) if process is not None]


def sockets_of(ports: Iterable[int]) -> list[Path]:
    numbers = [number for port in ports for number in (port, port + TWIN)]
    return [path for number in numbers for path in SOCKETS.glob(f"seaweedfs-*-{number}.sock")]


async def test_after_a_stop_nothing_runs_and_the_ports_are_free(scratch: Path) -> None:
    async with running(scratch) as stack:
        processes, ports = family(stack), stack.ports
        assert len(processes) > len(ENGINES)
    assert not [process for process in processes if process.alive()]
    assert all(free(port) for port in ports.values())
    assert sockets_of(ports.values()) == []
    assert not DataDirectory(scratch).record().alive()


@pytest.mark.parametrize("kind", [Postgres, Redis, Nats, Temporal, SeaweedFS])
async def test_a_killed_engine_is_started_again_on_its_port_and_reported(scratch: Path, kind) -> None:
    told: list[tuple[State, str]] = []
    again = asyncio.Event()

    def changed(it: Condition) -> None:
        told.append((it.state, it.note))
        if it.state is State.READY and it.restarts:
            again.set()

    async with running(scratch, [kind], changed=changed) as stack:
        first, port = stack.child(kind).condition.process, stack[kind].port
        assert first is not None
        assert first.send(signal.SIGKILL)
        async with asyncio.timeout(BOUND):
            await again.wait()
        assert stack[kind].port == port
        assert await stack[kind].ready()
        assert stack.child(kind).condition.process != first
    assert any(state is State.RESTARTING and "SIGKILL" in note for state, note in told)


async def test_an_engine_that_keeps_dying_is_tried_again_after_longer_and_longer_pauses(
    scratch: Path,
) -> None:
    told: list[str] = []
    thrice = asyncio.Event()

    def changed(it: Condition) -> None:
        if it.state is State.RESTARTING:
            told.append(it.note)
        if it.restarts >= 3:
            thrice.set()
        elif it.state is State.READY and it.process is not None:
            it.process.send(signal.SIGKILL)

    async with running(scratch, [Redis], changed=changed):
        async with asyncio.timeout(BOUND):
            await thrice.wait()
    pauses = [float(note.split()[-2]) for note in told]
    assert pauses == sorted(set(pauses))


async def test_a_supervisor_killed_without_a_word_leaves_no_child_and_the_next_starts(scratch: Path) -> None:
    names = [kind.name for kind in ENGINES]
    argv = [sys.executable, "-m", "stead.dev.held", str(scratch), *names]
    holder = await asyncio.create_subprocess_exec(*argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"ready\n"
    children = [ProcessId.of(child.pid) for child in psutil.Process(holder.pid).children(recursive=True)]
    alive = [child for child in children if child is not None]
    assert len(alive) > len(ENGINES)

    holder.kill()
    await holder.wait()

    assert await gone(alive, BOUND)
    ports = DataDirectory(scratch).record().ports
    async with running(scratch) as stack:
        assert stack.ports == ports
    assert sockets_of(ports.values()) == []


async def test_the_next_start_ends_what_a_crash_has_left(scratch: Path) -> None:
    stray = await asyncio.create_subprocess_exec("/bin/sleep", "600")
    directory = DataDirectory(scratch)
    directory.prepare()
    record = directory.record()
    record.children = [Condition("redis", 1, process=ProcessId.of(stray.pid))]
    directory.keep(record)
    async with running(scratch, [Redis]):
        assert await stray.wait() == -signal.SIGINT


async def test_a_process_that_got_a_noted_number_is_never_signalled(scratch: Path) -> None:
    stranger = await asyncio.create_subprocess_exec("/bin/sleep", "600")
    real = ProcessId.of(stranger.pid)
    assert real is not None
    noted = ProcessId(real.pid, real.boot, real.started - 1)
    assert not noted.alive()
    assert not noted.send(signal.SIGKILL)
    assert real.alive()
    assert real.send(signal.SIGKILL)
    assert await stranger.wait() == -signal.SIGKILL
    assert not real.alive()


async def test_two_stacks_side_by_side_never_meet(scratch: Path) -> None:
    here, there = scratch / "here", scratch / "there"
    async with running(here) as one, running(there) as other:
        assert not set(one.ports.values()) & set(other.ports.values())
        assert one.secrets.postgres != other.secrets.postgres
        foreign = one.postgres.url.replace(str(one.postgres.port), str(other.postgres.port))
        assert foreign != one.postgres.url
        for kind in ENGINES:
            assert await one[kind].ready()
            assert await other[kind].ready()
            await one.stop(kind)
            assert await other[kind].ready()


async def test_two_stacks_never_share_one_directory(scratch: Path) -> None:
    async with running(scratch, [Redis]):
        with pytest.raises(AlreadyRunning):
            async with running(scratch, [Redis]):
                pass


def test_a_port_that_another_stack_has_chosen_is_not_chosen_again() -> None:
    first, second = Claims(), Claims()
    try:
        chosen = first.settle(PORTS, {})
        assert first.settle([], {}) == {}
        moved = second.settle(PORTS, chosen)
        assert not set(chosen.values()) & set(moved.values())
    finally:
        first.release()
        second.release()


async def test_an_engine_that_is_not_installed_fails_with_the_package_to_install(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(scratch))
    with pytest.raises(ProgramMissing, match="apt-get install redis-server"):
        async with running(scratch, [Nats, Redis]):
            pass


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (Nats, "make setup"),
        (Temporal, "make setup"),
        (SeaweedFS, "make setup"),
        (Postgres, "apt-get install postgresql"),
    ],
)
async def test_the_way_out_is_named_for_every_engine(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, kind, remedy: str
) -> None:
    monkeypatch.setenv("PATH", str(scratch))
    monkeypatch.setattr(sys, "executable", str(scratch / "python"))
    monkeypatch.setattr("stead.dev.postgres.INSTALLED", scratch)
    with pytest.raises(ProgramMissing, match=remedy):
        async with running(scratch, [kind]):
            pass


async def test_an_engine_that_cannot_start_fails_with_the_end_of_its_log(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Nats, "argv", lambda self: [str(self.program()), "--config", "/nowhere"])
    processes: list[ProcessId] = []

    def changed(it: Condition) -> None:
        if it.process is not None:
            processes.append(it.process)

    with pytest.raises(DevError, match=r"(?s)nats exited with 1.*nats\.log.*/nowhere"):
        async with running(scratch, [Nats, Redis], changed=changed):
            pass
    assert processes
    assert not [process for process in processes if process.alive()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands PostgreSQL to another user")
async def test_a_directory_postgres_cannot_enter_is_refused_with_the_way_out(scratch: Path) -> None:
    closed = scratch / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(DevError, match=r"cannot enter .* --data"):
        async with running(closed / "data", [Postgres]):
            pass


async def test_an_engine_that_is_never_ready_fails_within_its_bound(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: Redis) -> bool:
        return False

    monkeypatch.setattr(Redis, "ready", never)
    monkeypatch.setattr("stead.dev.child.READY_BOUND", 0.5)
    with pytest.raises(DevError, match="redis was not ready within"):
        async with running(scratch, [Redis]):
            pass
    assert all(free(port) for port in DataDirectory(scratch).record().ports.values())


async def test_an_engine_that_does_not_heed_its_stop_signal_is_killed(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redis, "stop_signal", signal.SIGWINCH)
    monkeypatch.setattr(Redis, "patience", 0.5)
    async with running(scratch, [Redis]) as stack:
        processes = family(stack)
    assert not [process for process in processes if process.alive()]


async def test_a_remembered_port_that_somebody_else_has_taken_is_replaced(scratch: Path) -> None:
    async with running(scratch, [Redis]) as stack:
        before = dict(stack.ports)
    with socket.create_server((LOOPBACK, before["redis"])):
        async with running(scratch, [Redis]) as stack:
            assert stack.redis.port != before["redis"]
            assert await stack.redis.ready()
            assert {**stack.ports, "redis": 0} == {**before, "redis": 0}


async def test_secrets_are_made_once_and_only_their_owner_can_read_them(scratch: Path) -> None:
    async with running(scratch, [Redis]) as stack:
        first = stack.environment()
    async with running(scratch, [Redis]) as stack:
        assert stack.environment() == first
    files = [scratch / "secrets.json", scratch / "state.json", scratch / "lock"]
    assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o600"] * len(files)
