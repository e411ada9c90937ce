"""Each environment has a socket to the database with a limit, also of connections that do not sign in."""

import asyncio
import os
import pwd
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from stead.node.databases.gate import DatabaseGate, find_nginx
from tests.edge.edge_harness import scratch
from tests.node.harness import until
from tests.patience import time_limit

GREETING = b"greeting"
PATIENCE = 30.0
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def home() -> AsyncIterator[Path]:
    """With a server that greets everyone and waits, as MariaDB does."""
    with scratch() as made:
        made.chmod(0o755)
        waiting = []

        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(GREETING)
            waiting.append(writer)

        server = await asyncio.start_unix_server(greet, made / "server.sock")
        (made / "server.sock").chmod(0o777)
        yield made
        server.close()
        for writer in waiting:
            writer.close()


@pytest.fixture
async def gate(home: Path) -> AsyncIterator[DatabaseGate]:
    made = new_gate(home)
    yield made
    await made.stop()


def new_gate(home: Path) -> DatabaseGate:
    nginx = find_nginx()
    assert nginx is not None, "libnginx-mod-stream is not installed"
    return DatabaseGate(home / "gate", home / "server.sock", nginx)


def socket_of(home: Path, name: str) -> Path:
    (home / name).mkdir(exist_ok=True)
    return home / name / "db" / "mariadb.sock"


async def connect(path: Path) -> Connection | None:
    """None if the connection was closed at once."""
    reader, writer = await asyncio.open_unix_connection(path)
    with suppress(ConnectionResetError):
        async with time_limit(PATIENCE):
            if await reader.read(100) == GREETING:
                return reader, writer
    writer.close()
    return None


async def until_connected(path: Path) -> Connection:
    async def attempt() -> Connection | None:
        with suppress(OSError):
            return await connect(path)
        return None

    return await until(attempt, PATIENCE)


async def test_connections_above_the_limit_of_an_environment_are_closed(home: Path, gate: DatabaseGate):
    few, many = socket_of(home, "few"), socket_of(home, "many")
    await gate.open({few: 3, many: 5})
    kept = [await until_connected(few) for _ in range(3)]
    assert [await connect(few) for _ in range(20)] == [None] * 20
    others = [await connect(many) for _ in range(5)]
    assert None not in others
    assert await connect(many) is None
    kept.pop()[1].close()
    kept.append(await until_connected(few))
    # Another environment does not end open connections, and another limit has an effect.
    await gate.open({socket_of(home, "third"): 1, few: 4})
    assert not kept[0][0].at_eof()
    await until_connected(few)


async def test_nginx_outlives_the_agent_and_is_started_again_when_it_ends(home: Path, gate: DatabaseGate):
    path = socket_of(home, "site")
    await gate.open({path: 3})
    pid = gate.find_process()
    assert pid is not None
    following = new_gate(home)
    await following.open({path: 3})
    assert following.find_process() == pid
    watching = asyncio.create_task(following.keep_running())
    try:
        os.kill(pid, signal.SIGKILL)
        # The old workers do not know that they are alone; the new ones listen in their place.
        await asyncio.to_thread(os.waitpid, pid, 0)

        async def is_new() -> int | None:
            return following.find_process()

        assert await until(is_new, PATIENCE) != pid
        await until_connected(path)
    finally:
        watching.cancel()
        await asyncio.wait({watching})
        await following.stop()


async def test_an_environment_that_comes_back_can_connect(home: Path, gate: DatabaseGate):
    path = socket_of(home, "site")
    for _ in range(3):
        await gate.open({path: 3})
        await until_connected(path)
        shutil.rmtree(path.parent)
        await gate.close(path)


async def test_nobody_connects_as_the_administrator_of_the_server(home: Path, gate: DatabaseGate):
    """The server knows its administrator by the user of the process that connects."""
    path = socket_of(home, "site")
    await gate.open({path: 3})
    master = gate.find_process()
    assert master is not None

    async def users() -> set[int] | None:
        """There are none at first, and a new worker is still the user of its master."""
        found = {folder.stat().st_uid for folder in list_workers(master)}
        return found if found and os.geteuid() not in found else None

    assert await until(users, PATIENCE) == {pwd.getpwnam("nobody").pw_uid}


def list_workers(master: int) -> list[Path]:
    return [
        folder
        for folder in Path("/proc").glob("[0-9]*")
        if folder.name != str(master) and _group(folder) == master
    ]


def _group(folder: Path) -> int | None:
    with suppress(OSError):
        return os.getpgid(int(folder.name))
    return None
