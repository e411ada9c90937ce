"""A stack that this process supervises, for `steadctl dev up` and for tests."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from stead.dev import secrets as secrets_file
from stead.dev.child_process import ChildProcess, ChildStatus, StatusListener
from stead.dev.data_directory import DataDirectory, StackRecord
from stead.dev.engine import Engine
from stead.dev.engines import CORE_ENGINES
from stead.dev.errors import DevError
from stead.dev.files import LockHeld
from stead.dev.orphaned_processes import stop_orphans
from stead.dev.ports import PortReservations
from stead.dev.process_identity import ProcessId
from stead.dev.programs import Repositories
from stead.dev.secrets import Secrets
from stead.dev.stack import ALL_PROGRAMS, Stack
from stead.dev.supervised_program import SupervisedProgram
from stead.dev.supervisor import Supervisor
from stead.protocol.subjects import Program

Kinds = Sequence[type[SupervisedProgram]]


class AlreadyRunning(DevError):
    def __init__(self, directory: DataDirectory) -> None:
        super().__init__(f"a stack is already running from {directory.path}")


def _ignore(_: ChildStatus) -> None:
    return


class RunningStack(Stack):
    """A stack whose processes are children of this process."""

    def __init__(
        self,
        directory: DataDirectory,
        record: StackRecord,
        secrets: Secrets,
        *,
        kinds: Kinds,
        durable: bool,
        on_change: StatusListener,
        settings: Mapping[str, str],
    ) -> None:
        self._has_backups = Repositories in kinds
        super().__init__(directory, record.ports, secrets, durable=durable, settings=settings)
        self._record, self._on_change = record, on_change
        chosen: list[SupervisedProgram] = [self[kind] for kind in ALL_PROGRAMS if kind in kinds]
        self.supervisor = Supervisor(chosen, directory.logs, self._save_status)

    def environment(
        self, program: Program = Program.API, engines: Iterable[type[Engine]] = CORE_ENGINES
    ) -> dict[str, str]:
        """Without the repository gateway there are no backups."""
        settings = super().environment(program, engines)
        return settings if self._has_backups else settings | {"STEAD_REPOSITORIES_URL": ""}

    def _save_status(self, status: ChildStatus) -> None:
        self._record.children = self.supervisor.statuses
        # Processes do not survive a power failure, and programs that are starting must not wait for the disk.
        self.directory.save_record(self._record, durable=False)
        self._on_change(status)

    def child(self, kind: type[SupervisedProgram]) -> ChildProcess:
        return self.supervisor.child(kind.name)

    def mark_stopped(self) -> None:
        self._record.supervisor = None
        self.directory.save_record(self._record)

    async def start(self, kind: type[SupervisedProgram]) -> None:
        """Starts one program again, on its port."""
        await self.child(kind).start()

    async def stop(self, kind: type[SupervisedProgram]) -> None:
        """Stops one program. It stays down until it is started."""
        await self.child(kind).stop()

    async def kill(self, kind: type[SupervisedProgram]) -> None:
        """Ends one program like a crash. It stays down until it is started."""
        await self.child(kind).kill()


@asynccontextmanager
async def prepare_stack(
    data: Path,
    kinds: Kinds = CORE_ENGINES,
    *,
    durable: bool,
    on_change: StatusListener = _ignore,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningStack]:
    """Yields a stack that is not started yet. Whatever runs at the end of the block is stopped."""
    directory = DataDirectory(data)
    directory.create()
    reservations = PortReservations()
    try:
        with directory.lock():
            await stop_orphans(directory)
            ports = reservations.assign((kind.ports for kind in ALL_PROGRAMS), directory.load_record().ports)
            record = StackRecord(ports, ProcessId.of(os.getpid()))
            stack = RunningStack(
                directory,
                record,
                _create_secrets(directory),
                kinds=kinds,
                durable=durable,
                on_change=on_change,
                settings=settings or {},
            )
            directory.save_record(record)
            try:
                yield stack
            finally:
                await stack.supervisor.stop()
                stack.mark_stopped()
    except LockHeld:
        raise AlreadyRunning(directory) from None
    finally:
        reservations.release()


def _create_secrets(directory: DataDirectory) -> Secrets:
    with secrets_file.edit(directory.secrets) as secrets:
        for kind in ALL_PROGRAMS:
            kind.create_secrets(secrets)
    return secrets


@asynccontextmanager
async def run_stack(
    data: Path,
    kinds: Kinds = CORE_ENGINES,
    *,
    durable: bool = False,
    on_change: StatusListener = _ignore,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningStack]:
    """Starts the core engines, or the given engines and programs, and yields the stack when all are ready.
    Unless `durable`, data may be lost in a crash."""
    async with prepare_stack(data, kinds, durable=durable, on_change=on_change, settings=settings) as stack:
        await stack.supervisor.start()
        yield stack
