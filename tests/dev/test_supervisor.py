"""The supervisor restarts engines that crash, and leaves nothing behind when it stops."""

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

from stead.dev.child_process import ChildState, ChildStatus
from stead.dev.data_directory import DataDirectory
from stead.dev.engines import CORE_ENGINES
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.seaweedfs import SOCKETS, SeaweedFS
from stead.dev.engines.temporal import Temporal
from stead.dev.errors import DevError, ProgramMissing
from stead.dev.orphaned_processes import all_exited
from stead.dev.ports import PAIR_OFFSET, PortReservations, is_free
from stead.dev.process_identity import ProcessId
from stead.dev.running_stack import AlreadyRunning, RunningStack, run_stack
from stead.dev.stack import ALL_PROGRAMS
from stead.dev.supervised_program import LOOPBACK
from tests.patience import time_limit

BOUND = 30.0


def processes_of(stack: RunningStack) -> list[ProcessId]:
    """Every process of the stack, including those that engines have started."""
    pids = [it.process.pid for it in stack.supervisor.statuses if it.process is not None]
    everyone = [*pids, *(child.pid for pid in pids for child in psutil.Process(pid).children(recursive=True))]
    return [process for process in map(ProcessId.of, everyone) if process is not None]


OLD_SOCKETS = frozenset(SOCKETS.glob("seaweedfs-*.sock"))
"""Of programs that were killed, perhaps on ports that are used again."""


def sockets_of(ports: Iterable[int]) -> list[Path]:
    numbers = [number for port in ports for number in (port, port + PAIR_OFFSET)]
    found = [path for number in numbers for path in SOCKETS.glob(f"seaweedfs-*-{number}.sock")]
    return [path for path in found if path not in OLD_SOCKETS]


async def test_after_a_stop_no_process_runs_and_the_ports_are_free(scratch: Path) -> None:
    async with run_stack(scratch) as stack:
        processes, ports = processes_of(stack), stack.ports
        assert len(processes) > len(CORE_ENGINES)
    assert not [process for process in processes if process.is_alive()]
    assert all(is_free(port) for port in ports.values())
    assert sockets_of(ports.values()) == []
    assert not DataDirectory(scratch).load_record().is_running()


@pytest.mark.parametrize("kind", [Postgres, Redis, Nats, Temporal, SeaweedFS])
async def test_a_killed_engine_is_restarted_on_its_port_and_reported(scratch: Path, kind) -> None:
    changes: list[tuple[ChildState, str]] = []
    again = asyncio.Event()

    def changed(it: ChildStatus) -> None:
        changes.append((it.state, it.note))
        if it.state is ChildState.READY and it.restarts:
            again.set()

    async with run_stack(scratch, [kind], on_change=changed) as stack:
        first, port = stack.child(kind).status.process, stack[kind].port
        assert first is not None
        assert first.send_signal(signal.SIGKILL)
        async with time_limit(BOUND):
            await again.wait()
        assert stack[kind].port == port
        assert await stack[kind].is_ready()
        assert stack.child(kind).status.process != first
    assert any(state is ChildState.RESTARTING and "SIGKILL" in note for state, note in changes)


async def test_an_engine_that_keeps_crashing_is_restarted_after_increasing_delays(
    scratch: Path,
) -> None:
    changes: list[str] = []
    three_restarts = asyncio.Event()

    def changed(it: ChildStatus) -> None:
        if it.state is ChildState.RESTARTING:
            changes.append(it.note)
        if it.restarts >= 3:
            three_restarts.set()
        elif it.state is ChildState.READY and it.process is not None:
            it.process.send_signal(signal.SIGKILL)

    async with run_stack(scratch, [Redis], on_change=changed), time_limit(BOUND):
        await three_restarts.wait()
    pauses = [float(note.split()[-2]) for note in changes]
    assert pauses == sorted(set(pauses))


async def test_a_killed_supervisor_leaves_no_children_and_the_next_one_starts(scratch: Path) -> None:
    names = [kind.name for kind in CORE_ENGINES]
    argv = [sys.executable, "-m", "stead.dev.background_stack", str(scratch), *names]
    holder = await asyncio.create_subprocess_exec(*argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"ready\n"
    children = [ProcessId.of(child.pid) for child in psutil.Process(holder.pid).children(recursive=True)]
    alive = [child for child in children if child is not None]
    assert len(alive) > len(CORE_ENGINES)

    holder.kill()
    await holder.wait()

    assert await all_exited(alive, BOUND)
    ports = DataDirectory(scratch).load_record().ports
    async with run_stack(scratch) as stack:
        assert stack.ports == ports
    assert sockets_of(ports.values()) == []


async def test_the_next_start_stops_processes_that_a_crash_left_behind(scratch: Path) -> None:
    stray = await asyncio.create_subprocess_exec("/bin/sleep", "600")
    directory = DataDirectory(scratch)
    directory.create()
    record = directory.load_record()
    record.children = [ChildStatus("redis", 1, process=ProcessId.of(stray.pid))]
    directory.save_record(record)
    async with run_stack(scratch, [Redis]):
        assert await stray.wait() == -signal.SIGINT


async def test_a_stack_starts_when_its_record_is_empty_after_a_power_failure(scratch: Path) -> None:
    directory = DataDirectory(scratch)
    directory.create()
    (scratch / "state.json").touch()
    async with run_stack(scratch, [Redis]):
        assert directory.load_record().is_running()


async def test_another_process_with_a_recorded_process_id_is_never_signalled(scratch: Path) -> None:
    other = await asyncio.create_subprocess_exec("/bin/sleep", "600")
    real = ProcessId.of(other.pid)
    assert real is not None
    recorded = ProcessId(real.pid, real.boot, real.started - 1)
    assert not recorded.is_alive()
    assert not recorded.send_signal(signal.SIGKILL)
    assert real.is_alive()
    assert real.send_signal(signal.SIGKILL)
    assert await other.wait() == -signal.SIGKILL
    assert not real.is_alive()


async def test_two_stacks_on_one_machine_are_independent(scratch: Path) -> None:
    here, there = scratch / "here", scratch / "there"
    async with run_stack(here) as one, run_stack(there) as other:
        assert not set(one.ports.values()) & set(other.ports.values())
        assert one.secrets["postgres"] != other.secrets["postgres"]
        foreign = one[Postgres].url.replace(str(one[Postgres].port), str(other[Postgres].port))
        assert foreign != one[Postgres].url
        for kind in CORE_ENGINES:
            assert await one[kind].is_ready()
            assert await other[kind].is_ready()
            await one.stop(kind)
            assert await other[kind].is_ready()


async def test_two_stacks_cannot_use_the_same_directory(scratch: Path) -> None:
    async with run_stack(scratch, [Redis]):
        with pytest.raises(AlreadyRunning):
            async with run_stack(scratch, [Redis]):
                pass


def test_a_port_that_another_stack_has_reserved_is_not_assigned() -> None:
    first, second = PortReservations(), PortReservations()
    ports = [kind.ports for kind in ALL_PROGRAMS]
    try:
        chosen = first.assign(ports, {})
        assert first.assign([], {}) == {}
        moved = second.assign(ports, chosen)
        assert not set(chosen.values()) & set(moved.values())
    finally:
        first.release()
        second.release()


async def test_an_engine_that_is_not_installed_fails_with_the_name_of_its_package(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(scratch))
    with pytest.raises(ProgramMissing, match="apt-get install redis-server"):
        async with run_stack(scratch, [Nats, Redis]):
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
async def test_a_missing_engine_fails_with_the_command_that_installs_it(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, kind, remedy: str
) -> None:
    monkeypatch.setenv("PATH", str(scratch))
    monkeypatch.setattr(sys, "executable", str(scratch / "python"))
    monkeypatch.setattr("stead.dev.engines.postgres.INSTALLED", scratch)
    with pytest.raises(ProgramMissing, match=remedy):
        async with run_stack(scratch, [kind]):
            pass


async def test_an_engine_that_cannot_start_fails_with_the_last_lines_of_its_log(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Nats, "command", lambda self: [str(self.find_executable()), "--config", "/nowhere"])
    processes: list[ProcessId] = []

    def changed(it: ChildStatus) -> None:
        if it.process is not None:
            processes.append(it.process)

    with pytest.raises(DevError, match=r"(?s)nats exited with 1.*nats\.log.*/nowhere"):
        async with run_stack(scratch, [Nats, Redis], on_change=changed):
            pass
    assert processes
    assert not [process for process in processes if process.is_alive()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands PostgreSQL to another user")
async def test_a_directory_that_postgres_cannot_enter_is_refused_with_a_remedy(scratch: Path) -> None:
    private = scratch / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(DevError, match=r"cannot enter .* --data"):
        async with run_stack(private / "data", [Postgres]):
            pass


async def test_an_engine_that_is_never_ready_fails_after_its_timeout(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: Redis) -> bool:
        return False

    monkeypatch.setattr(Redis, "is_ready", never)
    monkeypatch.setattr(Redis, "ready_timeout", 0.5)
    with pytest.raises(DevError, match="redis was not ready within"):
        async with run_stack(scratch, [Redis]):
            pass
    assert all(is_free(port) for port in DataDirectory(scratch).load_record().ports.values())


async def test_an_engine_that_ignores_its_stop_signal_is_killed(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redis, "stop_signal", signal.SIGWINCH)
    monkeypatch.setattr(Redis, "stop_timeout", 0.5)
    async with run_stack(scratch, [Redis]) as stack:
        processes = processes_of(stack)
    assert not [process for process in processes if process.is_alive()]


async def test_a_previous_port_that_is_in_use_is_replaced(scratch: Path) -> None:
    async with run_stack(scratch, [Redis]) as stack:
        before = dict(stack.ports)
    with socket.create_server((LOOPBACK, before["redis"])):
        async with run_stack(scratch, [Redis]) as stack:
            assert stack[Redis].port != before["redis"]
            assert await stack[Redis].is_ready()
            assert {**stack.ports, "redis": 0} == {**before, "redis": 0}


async def test_secrets_are_generated_once_and_only_their_owner_can_read_them(scratch: Path) -> None:
    async with run_stack(scratch, [Redis]) as stack:
        first = stack.environment()
    async with run_stack(scratch, [Redis]) as stack:
        assert stack.environment() == first
    files = [scratch / "secrets.json", scratch / "state.json", scratch / "lock"]
    assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o600"] * len(files)
