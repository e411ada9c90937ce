"""A stack with its supervisor: what `steadctl dev up` shows, and what a test takes its engines from."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from stead.dev import secrets as secrets_file
from stead.dev.child import Changed, Child, Condition
from stead.dev.directory import DataDirectory, Record
from stead.dev.engine import DevError, Engine
from stead.dev.files import Taken
from stead.dev.identity import ProcessId
from stead.dev.leftovers import sweep
from stead.dev.ports import Claims
from stead.dev.secrets import Secrets
from stead.dev.stack import ENGINES, EVERY, PORTS, PROGRAMS, Stack
from stead.dev.supervisor import Supervisor
from stead.protocol.subjects import Program, user


class AlreadyRunning(DevError):
    def __init__(self, directory: DataDirectory) -> None:
        super().__init__(f"a stack is already running from {directory.path}")


def _unnoticed(_: Condition) -> None:
    return


class RunningStack(Stack):
    """A stack whose processes are this process's children."""

    def __init__(
        self,
        directory: DataDirectory,
        record: Record,
        secrets: Secrets,
        *,
        kinds: Sequence[type[Engine]],
        durable: bool,
        changed: Changed,
        settings: Mapping[str, str],
    ) -> None:
        super().__init__(directory, record.ports, secrets, durable=durable, settings=settings)
        self._record, self._changed = record, changed
        chosen: list[Engine] = [self[kind] for kind in (*EVERY, *PROGRAMS) if kind in kinds]
        self.supervisor = Supervisor(chosen, directory.logs, self._note)

    def _note(self, condition: Condition) -> None:
        self._record.children = self.supervisor.conditions
        self.directory.keep(self._record)
        self._changed(condition)

    def child(self, kind: type[Engine]) -> Child:
        return self.supervisor.child(kind.name)

    async def start(self, kind: type[Engine]) -> None:
        """Starts one engine again, on its port."""
        await self.child(kind).start()

    async def stop(self, kind: type[Engine]) -> None:
        """Stops one engine; it stays down until it is started."""
        await self.child(kind).stop()

    async def kill(self, kind: type[Engine]) -> None:
        """Ends one engine as a crash would; it stays down until it is started."""
        await self.child(kind).kill()


@asynccontextmanager
async def supervised(
    data: Path,
    kinds: Sequence[type[Engine]] = ENGINES,
    *,
    durable: bool,
    changed: Changed = _unnoticed,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningStack]:
    """A stack that is not started yet; leaving the block stops whatever was."""
    directory = DataDirectory(data)
    directory.prepare()
    claims = Claims()
    try:
        with directory.held():
            await sweep(directory)
            record = Record(claims.settle(PORTS, directory.record().ports), ProcessId.of(os.getpid()))
            with secrets_file.edited(directory.secrets) as secrets:
                for program in Program:
                    secrets.nats_password(user(program))
            stack = RunningStack(
                directory,
                record,
                secrets,
                kinds=kinds,
                durable=durable,
                changed=changed,
                settings=settings or {},
            )
            directory.keep(record)
            try:
                yield stack
            finally:
                await stack.supervisor.stop()
                record.supervisor = None
                directory.keep(record)
    except Taken:
        raise AlreadyRunning(directory) from None
    finally:
        claims.release()


@asynccontextmanager
async def running(
    data: Path,
    kinds: Sequence[type[Engine]] = ENGINES,
    *,
    durable: bool = False,
    changed: Changed = _unnoticed,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningStack]:
    """The five engines, or those and the programs asked for, serving; forgetful unless `durable`."""
    async with supervised(data, kinds, durable=durable, changed=changed, settings=settings) as stack:
        await stack.supervisor.start()
        yield stack
