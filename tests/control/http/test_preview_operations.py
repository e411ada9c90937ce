"""An installation without the operations that are marked Preview (`STEAD_PREVIEW=false`)."""

from collections.abc import AsyncIterator

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.features import all_operations
from stead.control.settings import Settings, from_environment
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.people import Person, make_person

PREVIEW = [operation for operation in all_operations() if operation.preview]


@pytest.fixture
async def stable(settings: Settings, clock: MovableClock, plane: ControlPlane) -> AsyncIterator[ControlPlane]:
    """Beside the shared one, on the same database."""
    stable = ControlPlane(replace(settings, preview=False), clock=clock)
    async with stable.running():
        yield stable


@pytest.fixture
async def caller(stable: ControlPlane) -> Person:
    anonymous = Client(transport=httpx.ASGITransport(stable), base_url="http://stead.test")
    return await make_person(stable, anonymous)


def test_the_setting_is_read_from_the_environment(settings: Settings):
    needed = {
        "STEAD_DATABASE_URL": settings.database_url,
        "STEAD_REDIS_URL": settings.redis_url,
        "STEAD_NATS_URL": settings.nats_url,
        "STEAD_SEALING_KEY": settings.sealing_key,
    }
    assert from_environment(needed).preview
    assert not from_environment(needed | {"STEAD_PREVIEW": "false"}).preview


async def test_operations_in_preview_do_not_exist(stable: ControlPlane, caller: Person):
    assert PREVIEW
    # Not a checking client: these answers are in no description.
    plain = httpx.AsyncClient(
        transport=httpx.ASGITransport(stable),
        base_url="http://stead.test",
        headers={"authorization": caller.session.headers["authorization"]},
    )
    for operation in PREVIEW:
        path = operation.path.replace("{", "").replace("}", "")
        answer = await plain.request(operation.method, path)
        assert answer.status_code in (404, 405), operation.id
        assert answer.json()["error"]["code"] in ("route.not_found", "route.method_not_allowed")
    assert (await plain.get("/v1/sites")).status_code == 200


async def test_the_description_leaves_them_out(caller: Person):
    described = (await caller.session.get("/v1/openapi.json")).json()["paths"]
    found = {operation["operationId"] for path in described.values() for operation in path.values()}
    assert found == {operation.id for operation in all_operations() if not operation.preview}
