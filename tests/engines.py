"""The engines of a test run: started once by the pytest controller, and shared by its workers."""

import asyncio
import os
import shutil
import tempfile
import threading
from pathlib import Path

import msgspec

from stead.control.engines.migrations import migrate
from stead.dev.engines.clickhouse import ClickHouse
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.running_stack import run_stack
from stead.protocol.subjects import Program

TEMPLATE = "stead_template"
VARIABLE = "STEAD_TEST_ENGINES"


class EngineAddresses(msgspec.Struct, frozen=True):
    """`postgres` is a database URL with a placeholder for the name of the database."""

    postgres: str
    redis: str
    nats: str
    nats_user: str
    nats_password: str
    clickhouse: str
    """With a placeholder for the name of the database. The user of workers."""
    nats_operator_password: str

    def database(self, name: str) -> str:
        return self.postgres.format(name=name)


def engine_addresses() -> EngineAddresses:
    return msgspec.json.decode(os.environ[VARIABLE], type=EngineAddresses)


class TestEngines:
    """Runs the stack in a separate thread, so that pytest hooks can start and stop it."""

    __test__ = False

    def __init__(self) -> None:
        # Not a temporary directory of pytest, because the user of PostgreSQL could not enter it.
        self._data = Path(tempfile.mkdtemp(prefix="stead-tests-"))
        self._data.chmod(0o711)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="engines")
        self._end: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._thread.start()
        self._ready.wait(timeout=120)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout=60)
        shutil.rmtree(self._data, ignore_errors=True)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:
            self._failure = failure
            raise
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with run_stack(self._data, [Postgres, Redis, Nats, ClickHouse]) as stack:
            await stack[Postgres].create_database(TEMPLATE)
            url = stack[Postgres].database_url(TEMPLATE)
            await asyncio.to_thread(migrate, url)
            login = stack[Nats].login(Program.API)
            found = EngineAddresses(
                postgres=url.replace(TEMPLATE, "{name}"),
                redis=stack[Redis].url.rpartition("/")[0],
                nats=login.url,
                nats_user=login.user,
                nats_password=login.password,
                clickhouse=stack[ClickHouse].url(Program.WORKER, "{name}"),
                nats_operator_password=stack[Nats].login(Program.OPERATOR).password,
            )
            os.environ[VARIABLE] = msgspec.json.encode(found).decode()
            self._ready.set()
            await self._end.wait()
