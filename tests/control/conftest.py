"""Callers from a given address, keys with a pin."""

from collections.abc import Awaitable, Callable

import httpx
import pytest
from hypothesis import settings as hypothesis_settings

from stead.control.app import ControlPlane
from stead.shared.secrets import digest
from tests.client import Client
from tests.conftest import NewPerson
from tests.control.served_site import ServedSite, create_served_site
from tests.people import Person

hypothesis_settings.register_profile("engines", deadline=None)
hypothesis_settings.load_profile("engines")

FromAddress = Callable[..., Client]
Pin = Callable[..., Awaitable[Client]]


@pytest.fixture(scope="session")
def from_address(plane: ControlPlane) -> FromAddress:
    """A client whose connection comes from this address, speaking for the bearer of a secret if given one."""

    def come(address: str, secret: str | None = None) -> Client:
        there = Client(
            transport=httpx.ASGITransport(plane, client=(address, 4711)), base_url="http://stead.test"
        )
        return there if secret is None else there.as_(secret)

    return come


@pytest.fixture(scope="session")
def pinned(plane: ControlPlane, anonymous: Client) -> Pin:
    """A key pinned to a resource, written straight into its row: nothing pinnable exists yet."""

    async def pin(person: Person, resource: tuple[str, str], *granted: str, **wanted: object) -> Client:
        secret = await person.secret(*granted, **wanted)
        async with plane.database.transaction() as tx:
            changed = await tx.run(
                "update api_keys set pin_type = $2, pin_id = $3"
                " where id = (select key_id from api_key_secrets where hash = $1)",
                digest(secret),
                *resource,
            )
        assert changed == 1
        return anonymous.as_(secret)

    return pin


@pytest.fixture
async def stranger(new_person: NewPerson) -> Person:
    """Another tenant."""
    return await new_person()


@pytest.fixture
async def served_site(plane: ControlPlane, new_person: NewPerson) -> ServedSite:
    """A live site on a node."""
    return await create_served_site(plane, await new_person())
