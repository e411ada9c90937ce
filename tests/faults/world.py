"""Engines of one's own, to be broken, and the API processes that must live with that."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import psutil

from stead.control.accounts import service as accounts
from stead.control.accounts.rules import SignInClient
from stead.control.app import ControlPlane
from stead.control.engines.migrations import migrate
from stead.control.settings import from_environment
from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.ports import reserve_ports
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import LOOPBACK
from tests.conftest import UNLIMITED
from tests.faults.processes import ApiProcess
from tests.people import Person, make_person

HERE = SignInClient(LOOPBACK, LOOPBACK, "tests")


class World:
    def __init__(self, stack: RunningStack, ending: AsyncExitStack) -> None:
        self._stack, self._ending = stack, ending
        self._plane = ControlPlane(from_environment(stack.environment()))
        """Never started: what it knows is the way to make people straight in the database."""

    async def prepare(self) -> None:
        await asyncio.to_thread(migrate, self._stack[Postgres].url)
        await self.execute(UNLIMITED)
        self._ending.push_async_callback(self._plane.database.close)

    async def api(self, **settings: str) -> ApiProcess:
        (process,) = await self.apis(1, **settings)
        return process

    async def apis(self, number: int, **settings: str) -> list[ApiProcess]:
        """This many API processes, started side by side and stopped with the world."""
        environment = self._stack.environment() | settings
        processes = []
        for _ in range(number):
            port, metrics = reserve_ports(2)
            log = self._stack.directory.logs / f"api-{port}.log"
            processes.append(ApiProcess(environment, port, metrics, log))
            self._ending.push_async_callback(processes[-1].stop)
        for process in processes:
            await process.until_ready()
        return processes

    async def person(self, through: ApiProcess, *, plan: str = "unlimited") -> Person:
        return await make_person(self._plane, through.anonymous, plan=plan)

    async def sign_in(self, person: Person) -> str:
        """The token of another session of theirs."""
        async with self._plane.database.transaction() as tx:
            return (await accounts.sign_in(tx, person.account, HERE)).token

    async def plan(self, name: str, *, read: int, ceiling: int) -> None:
        statement = "insert into plans values ($1, $1, 1, 1, 1, 1, 1, $2, 1000, 1000, $3)"
        await self.execute(statement, name, read, ceiling)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(self._stack[Postgres].url)
        try:
            yield connection
        finally:
            await connection.close()

    async def execute(self, statement: str, *args: object) -> None:
        async with self.connection() as connection:
            await connection.execute(statement, *args)

    async def value(self, statement: str, *args: object) -> Any:
        async with self.connection() as connection:
            return await connection.fetchval(statement, *args)

    @property
    def redis_password(self) -> str:
        return self._stack[Redis].password

    async def redis(self, *commands: str) -> list[str]:
        """The lines that Redis answers to these commands, on one connection."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self._stack[Redis].port)
        login = f"AUTH {self.redis_password}"
        writer.write("".join(f"{command}\r\n" for command in (login, *commands, "QUIT")).encode())
        answer = await reader.read()
        writer.close()
        return answer.decode().splitlines()[1:-1]

    @asynccontextmanager
    async def without(self, kind: type[Engine], *, crash: bool = False) -> AsyncIterator[None]:
        await (self._stack.kill(kind) if crash else self._stack.stop(kind))
        try:
            yield
        finally:
            await self._stack.start(kind)

    async def restart(self, kind: type[Engine], *, crash: bool = False) -> None:
        async with self.without(kind, crash=crash):
            pass

    @asynccontextmanager
    async def frozen(self, kind: type[Engine]) -> AsyncIterator[None]:
        """It keeps its connections and accepts new ones, but does nothing."""
        running_as = self._stack.child(kind).status.process
        assert running_as is not None
        root = psutil.Process(running_as.pid)
        family = [root, *root.children(recursive=True)]
        for process in family:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in reversed(family):
                process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def broken_at_will() -> AsyncIterator[World]:
    scratch = _scratch()
    try:
        # Durable, or a PostgreSQL that is killed would lose what it had said was committed.
        engines = run_stack(scratch, [Postgres, Redis, Nats], durable=True)
        async with engines as stack, AsyncExitStack() as ending:
            world = World(stack, ending)
            await world.prepare()
            yield world
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch() -> Path:
    made = Path(tempfile.mkdtemp(prefix="stead-faults-"))
    # PostgreSQL may run as another user, who must be able to pass through.
    made.chmod(0o711)
    return made
