"""Visitors without a credential, each from a network of their own, so that no test slows down another."""

import secrets
from collections.abc import Awaitable, Callable

import pytest

from stead.control.app import ControlPlane
from stead.shared.ids import new_id
from tests.client import Client
from tests.control.conftest import FromAddress

PASSWORD = "correct horse battery staple"


@pytest.fixture
def network() -> str:
    """The first half of an IPv6 address that nobody else uses."""
    return f"2001:db8:{secrets.randbelow(65536):x}:{secrets.randbelow(65536):x}"


@pytest.fixture
def visitor(from_address: FromAddress, network: str) -> Client:
    return from_address(f"{network}::1")


@pytest.fixture
def email() -> str:
    return f"{new_id('person')}@example.com"


@pytest.fixture
def row_of(plane: ControlPlane) -> Callable[[str, str], Awaitable[object]]:
    """One column of an account's row: what the API does not show."""

    async def read(account: str, column: str) -> object:
        async with plane.database.reading() as tx:
            return await tx.value(f'select "{column}" from accounts where id = $1', account)

    return read
