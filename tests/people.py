"""Accounts and credentials, inserted directly into the database: fast, and independent of what is tested."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

from stead.control.accounts import passwords, store
from stead.control.accounts import service as accounts
from stead.control.accounts.rules import Account
from stead.control.app import ControlPlane
from stead.control.engines.postgres import Tx
from stead.control.keys import service as keys
from stead.control.keys.schema import NewKey
from stead.shared import scopes
from stead.shared.ids import AccountId, SessionId, new_id
from stead.shared.secrets import mint
from tests.client import Client

PASSWORD = "a password for every test"
EVERY_SCOPE = [scopes.EVERYTHING, *sorted(scopes.ISOLATED)]


@cache
def password_hash() -> str:
    return passwords._hasher.hash(PASSWORD)


@dataclass
class Person:
    """An account, and clients with its credentials."""

    account: Account
    session: Client
    _plane: ControlPlane
    _anonymous: Client

    @property
    def id(self) -> AccountId:
        return self.account.id

    def transaction(self) -> AbstractAsyncContextManager[Tx]:
        return self._plane.database.transaction()

    async def secret(self, *granted: str, **wanted: Any) -> str:
        """The secret of a new key, with every scope unless some are named."""
        new = NewKey(scopes=list(granted) or EVERY_SCOPE, **wanted)
        async with self._plane.database.transaction() as tx:
            _, secret = await keys.create(tx, accounts.owner_principal(self.account), new)
        return secret.text

    async def key(self, *granted: str, **wanted: Any) -> Client:
        return self._anonymous.as_(await self.secret(*granted, **wanted))


async def make_person(plane: ControlPlane, anonymous: Client, *, plan: str = "unlimited") -> Person:
    """The session is inserted directly: checking passwords would take most of the time of a test run."""
    id_, secret = AccountId(new_id("client")), mint("stead_session")
    verified = plane.database._clock()
    account = Account(id_, f"{id_}@example.com", "A Person", password_hash(), plan, None, verified)
    async with plane.database.transaction() as tx:
        assert await store.insert(tx, account)
        await store.insert_session(tx, id_, SessionId(new_id("sess")), secret.hash)
    return Person(account, anonymous.as_(secret.text), plane, anonymous)
