"""`steadctl nodes`: the operator enrols nodes, looks at them and drains them."""

import asyncio
import base64
from collections.abc import Awaitable, Callable

import pytest
from typer.testing import CliRunner, Result

from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.control.nodes.rules import NodeStatus
from stead.control.settings import Settings
from stead.protocol.commands import Heartbeat
from stead.protocol.sealed_work import public_key_of
from stead.steadctl import app
from tests.enrolled_nodes import PRIVATE_KEY

NODE, REGION = "node-by-hand", "by-hand"
KEY = base64.b64encode(public_key_of(PRIVATE_KEY)).decode()

Steadctl = Callable[..., Awaitable[Result]]


@pytest.fixture
def steadctl(settings: Settings) -> Steadctl:
    given = {
        "STEAD_DATABASE_URL": settings.database_url,
        "STEAD_REDIS_URL": settings.redis_url,
        "STEAD_NATS_URL": settings.nats_url,
        "STEAD_NATS_USER": settings.nats_user,
        "STEAD_NATS_PASSWORD": settings.nats_password,
        "STEAD_SEALING_KEY": settings.sealing_key,
    }

    async def run(*words: str) -> Result:
        # Every command starts an event loop of its own.
        return await asyncio.to_thread(lambda: CliRunner(env=given).invoke(app, ["nodes", *words]))

    return run


async def find(plane: ControlPlane) -> NodeStatus:
    async with plane.database.reading() as tx:
        found = await nodes.find(tx, NODE)
    assert found is not None
    return found


async def send_heartbeat(plane: ControlPlane, capacity: int, edge_address: str) -> None:
    heartbeat = Heartbeat(NODE, REGION, capacity, 0, "0.1.0", edge_address=edge_address)
    async with plane.database.transaction() as tx:
        assert await nodes.record_heartbeat(tx, heartbeat) is not None


async def test_the_enrolment_bounds_what_a_node_says_about_itself(plane: ControlPlane, steadctl: Steadctl):
    bounds = ("--capacity", "7", "--edge-address", "192.0.2.7:80")
    assert (await steadctl("add", NODE, "--region", REGION, "--key", KEY, *bounds)).exit_code == 0
    await send_heartbeat(plane, 50, "192.0.2.66:80")
    assert ((await find(plane)).capacity, (await find(plane)).edge_address) == (7, "192.0.2.7:80")
    shown = (await steadctl("show", NODE)).stdout
    assert "0 of 7" in shown
    assert "at most 7 environments; address of its edge: 192.0.2.7:80" in shown

    # Without an address, that of the next heartbeat counts, and only that.
    assert (await steadctl("add", NODE, "--region", REGION, "--key", KEY)).exit_code == 0
    for address in ("192.0.2.8:80", "192.0.2.66:80"):
        await send_heartbeat(plane, 50, address)
    assert ((await find(plane)).capacity, (await find(plane)).edge_address) == (50, "192.0.2.8:80")

    refused = await steadctl("add", NODE, "--region", REGION, "--key", KEY, "--edge-address", "no port")
    assert refused.exit_code == 2
    assert (await find(plane)).edge_address == "192.0.2.8:80"


async def test_a_node_is_drained_and_accepts_sites_again(plane: ControlPlane, steadctl: Steadctl):
    assert (await steadctl("add", NODE, "--region", REGION, "--key", KEY)).exit_code == 0
    await send_heartbeat(plane, 10, "192.0.2.8:80")
    assert (await steadctl("drain", NODE)).exit_code == 0
    assert (await find(plane)).draining
    assert "draining" in (await steadctl("list")).stdout
    assert (await steadctl("drain", NODE, "--undo")).exit_code == 0
    assert not (await find(plane)).draining
    unknown = await steadctl("drain", "node-that-never-was")
    assert (unknown.exit_code, unknown.stderr) == (1, "there is no node node-that-never-was\n")
