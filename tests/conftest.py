"""Every test gets real engines; a test that breaks one starts its own (`tests/faults`)."""

import base64
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.insights.tables import create_tables
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from tests.answering_node import answering_node
from tests.client import Client
from tests.engines import TEMPLATE, TestEngines, engine_addresses
from tests.enrolled_nodes import record_node
from tests.people import Person, make_person
from tests.tls import share_trust

pytest_plugins = ["tests.repeats", "tests.scheduling", "tests.seeds", "tests.selection.plugin", "tests.skips"]

# httpx looks for this module in each request. It is not installed, and finding that out takes long.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

_engines = pytest.StashKey[TestEngines]()
FIGURE = "figure"
MAX_REASON = 400
UNLIMITED = (
    "insert into plans values"
    " ('unlimited', 'For tests', 1000, 1000, 1000, 1000, 1000, 60000000, 60000000, 60000000, 60000000,"
    " 100000, 100000, 100000, 100000, 50, 100000)"
)


def pytest_configure(config: pytest.Config) -> None:
    # Programs that a shell starts in the background ignore SIGINT, and so would everything the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    share_trust()
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    engines = config.stash[_engines] = TestEngines()
    engines.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    engines = config.stash.get(_engines, None)
    if engines is not None:
        engines.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why tests failed, then the figures that tests recorded. They are part of the reports, so this
    works under xdist too."""
    for report in terminalreporter.getreports("failed") + terminalreporter.getreports("error"):
        reason = " ".join(str(getattr(report.longrepr, "reprcrash", None) or report.longrepr).split())
        terminalreporter.write_line(f"failed: {report.nodeid}: {reason[:MAX_REASON]}")
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == FIGURE:
                terminalreporter.write_line(str(value))


@pytest.fixture(scope="session")
async def settings(worker_id: str) -> Settings:
    """This worker's own database, cloned from the migrated template, and its own Redis database."""
    engines = engine_addresses()
    name = f"stead_{worker_id}"
    number = 0 if worker_id == "master" else 1 + int(worker_id.removeprefix("gw"))
    admin = await asyncpg.connect(engines.database("postgres"))
    await admin.execute(f'create database "{name}" template "{TEMPLATE}"')
    await admin.close()
    return Settings(
        database_url=engines.database(name),
        redis_url=f"{engines.redis}/{number}",
        nats_url=engines.nats,
        nats_user=engines.nats_user,
        nats_password=engines.nats_password,
        sealing_key=base64.b64encode(os.urandom(32)).decode(),
        base_url="http://stead.test",
        # All clients of the tests have the same address.
        unknown_credentials_per_minute=1_000_000,
        # Made-up domains work at once. The tests of domains have settings of their own.
        domain_verification="none",
        # Mail waits in the database, where tests read it.
        email_verification=True,
        # Only a worker asks it.
        powerdns_url="http://powerdns.test",
        # Nothing answers there: signing an address costs no request.
        s3_endpoint="http://objects.test",
        s3_access_key="nobody",
        s3_secret_key="nothing",
        clickhouse_url=engines.clickhouse.format(name=name),
    )


@pytest.fixture(scope="session")
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(scope="session")
async def answering() -> AsyncIterator[None]:
    """Sites on this node answer questions."""
    async with answering_node():
        yield


@pytest.fixture(scope="session")
async def plane(settings: Settings, clock: MovableClock, answering: None) -> AsyncIterator[ControlPlane]:
    plane = ControlPlane(settings, clock=clock)
    async with plane.running():
        await create_tables(plane.clickhouse)
        async with plane.database.transaction() as tx:
            await tx.run(UNLIMITED)
            # Once any node is known, a region without one takes no sites; tests leave nodes of other regions.
            await record_node(tx)
        yield plane


@pytest.fixture(scope="session")
def anonymous(plane: ControlPlane) -> Client:
    return Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")


NewPerson = Callable[..., Awaitable[Person]]


@pytest.fixture(scope="session")
def new_person(plane: ControlPlane, anonymous: Client) -> NewPerson:
    async def make(**wanted: str) -> Person:
        return await make_person(plane, anonymous, **wanted)

    return make


@pytest.fixture
async def person(new_person: NewPerson) -> Person:
    return await new_person()


@pytest.fixture(autouse=True)
def time_stands_where_it_is(clock: MovableClock) -> None:
    clock.ahead *= 0
