"""Visitors without a credential, each from a network of their own, so that no test slows down another."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest

from stead.control.accounts import store
from stead.control.accounts.passwords import OPERATOR, hash_password
from stead.control.accounts.rules import Account
from stead.control.app import ControlPlane
from stead.control.outbox.mail import Email
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from stead.shared.ids import AccountId, SessionId, new_id
from stead.shared.secrets import mint
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


class Mailbox:
    """What waits to be sent. Nothing is sent in these tests."""

    def __init__(self, plane: ControlPlane, settings: Settings) -> None:
        self._plane, self._sealer = plane, Sealer.from_text(settings.sealing_key)

    async def letters(self, to: str) -> list[Email]:
        async with self._plane.database.reading() as tx:
            rows = await tx.all(lambda *row: row, "select id, sealed from outgoing_mail order by id")
        opened = [self._sealer.open(sealed, context=id_.encode()) for id_, sealed in rows]
        letters = [msgspec.msgpack.decode(each, type=Email) for each in opened]
        return [each for each in letters if each.to == to]

    async def token(self, to: str) -> str:
        """Of the newest letter."""
        return self.token_in((await self.letters(to))[-1])

    def token_in(self, letter: Email) -> str:
        return next(line.strip() for line in letter.text.splitlines() if line.startswith("    "))


async def insert_unverified(plane: ControlPlane, email: str) -> str:
    """An account whose address is not confirmed, as before sign-ups waited for that. Returns a session."""
    account = AccountId(new_id("client"))
    hash_, secret = await hash_password(PASSWORD, OPERATOR), mint("stead_session")
    async with plane.database.transaction() as tx:
        assert await store.insert(tx, Account(account, email, "Ada", hash_, "free", None))
        await store.insert_session(tx, account, SessionId(new_id("sess")), secret.hash)
    return secret.text


@pytest.fixture
def unverified(plane: ControlPlane, visitor: Client) -> Callable[[str], Awaitable[Client]]:
    async def come(email: str) -> Client:
        return visitor.as_(await insert_unverified(plane, email))

    return come


@pytest.fixture
async def mailbox(plane: ControlPlane, settings: Settings) -> AsyncIterator[Mailbox]:
    yield Mailbox(plane, settings)
    async with plane.database.transaction() as tx:
        await tx.run("delete from outgoing_mail")
