"""Two API processes with separate engines, jobs as rows, and a node that writes the output of jobs."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client as NatsClient

from stead.control.engines.nats import Nats as Connection
from stead.control.engines.nats_streams import ensure_streams
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol.commands import OutputLine, encode
from stead.protocol.subjects import OUTPUT, Node, Program, job_output
from tests import teams
from tests.faults.processes import ApiProcess
from tests.faults.world import World

NODE = Node("node-1")
AT_ONCE = 500
# All clients of the tests have one address and one credential.
MANY = dict.fromkeys(
    (
        "STEAD_CONNECTIONS_PER_ADDRESS",
        "STEAD_STREAMS_PER_CREDENTIAL",
        "STEAD_STREAMS_PER_ACCOUNT",
        "STEAD_STREAMS_PER_ADDRESS",
    ),
    "2000",
)


@dataclass
class Stage:
    world: World
    stack: RunningStack
    one: ApiProcess
    two: ApiProcess
    secret: str
    account: str
    node: NatsClient
    operator: NatsClient

    async def job(self, *, status: str = "queued", account: str | None = None) -> str:
        """Insert a job of a new site, so that no job waits for another."""
        owner = account or self.account
        async with self.world._plane.database.transaction() as tx:
            site = await teams.insert_site(tx, account=owner)
            return await teams.insert_job(tx, site, owner, status=status, nodes=(NODE.id,))

    async def update(self, job: str, **columns: Any) -> None:
        """Change the row, as a worker would."""
        names = ", ".join(f"{name} = ${n}" for n, name in enumerate(columns, 2))
        async with self.world._plane.database.transaction() as tx:
            await tx.run(f"update jobs set {names} where id = $1", job, *columns.values())

    async def say(self, job: str, lines: Iterable[str]) -> None:
        """Write lines, and wait until the server has them."""
        subject, jetstream = job_output(job, NODE), self.node.jetstream()
        pending = []
        for text in lines:
            pending.append(await jetstream.publish_async(subject, encode(OutputLine(text))))
            if len(pending) == AT_ONCE:
                await _acknowledged(pending)
        await _acknowledged(pending)

    async def consumers(self) -> set[str]:
        """The readers that the server keeps for the output of jobs, by name."""
        jetstream, found = self.operator.jetstream(), set[str]()
        while page := await jetstream.consumers_info(OUTPUT, offset=len(found)):
            found |= {each.name for each in page}
        return found


async def _acknowledged(pending: list[Any]) -> None:
    for each in pending:
        await each
    pending.clear()


@asynccontextmanager
async def raised() -> AsyncIterator[Stage]:
    scratch = _scratch()
    try:
        async with run_stack(scratch, [Postgres, Redis, Nats]) as stack, AsyncExitStack() as ending:
            world = World(stack, ending)
            await world.prepare()
            await _make_streams(stack)
            await stack.add_node(NODE.id)
            one, two = await world.apis(2, STEAD_DATABASE_CONNECTIONS="8", **MANY)
            person = await world.person(one)
            node, operator = await _connect(stack, NODE), await _connect(stack, Program.OPERATOR)
            ending.push_async_callback(node.close)
            ending.push_async_callback(operator.close)
            yield Stage(world, stack, one, two, await person.secret(), person.id, node, operator)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch() -> Path:
    made = Path(tempfile.mkdtemp(prefix="stead-streams-"))
    # Not pytest's own temporary directory: PostgreSQL's user could not enter it.
    made.chmod(0o711)
    return made


async def _make_streams(stack: RunningStack) -> None:
    """Create the streams, as a worker does when it starts."""
    async with connection_of(stack, Program.WORKER) as worker:
        await ensure_streams(worker)


@asynccontextmanager
async def connection_of(stack: RunningStack, program: Program) -> AsyncIterator[Connection]:
    """A connection as the program itself opens it."""
    login = stack[Nats].login(program)
    connection = Connection(login.url, user=login.user, password=login.password, program=program)
    connection.start()
    try:
        await connection.ready()
        yield connection
    finally:
        await connection.stop()


async def _connect(stack: RunningStack, role: Node | Program) -> NatsClient:
    login = stack[Nats].login(role)
    return await nats.connect(
        login.url,
        user=login.user,
        password=login.password,
        inbox_prefix=login.inbox_prefix.encode(),
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
    )
