"""Checks passwords between two transactions.

A hash is slow by design, and a transaction that waited for it would keep a database connection meanwhile.
"""

from stead.control.accounts import store
from stead.control.accounts.passwords import Source, owner, stranger, verify_password
from stead.control.accounts.rules import Account
from stead.control.engines.postgres import Tx
from stead.control.http.principal import Address
from stead.shared.errors import AccountSuspended


def source_of(known: Account | None, address: Address) -> Source:
    """Who signs in: the owner, if somebody has signed in to the account from this network before."""
    return stranger(address) if known is None else owner(known.id)


async def check(account: Account | None, password: str, source: Source) -> Account | None:
    """The account, if the password is right and it is not closed. Takes as long without an account. Raises
    AccountSuspended and RateLimitExceeded."""
    is_correct = await verify_password(account.password_hash if account else None, password, source)
    if account is None or not is_correct or account.closed_at is not None:
        return None
    if account.suspended_at is not None:
        raise AccountSuspended
    return account


async def accept(tx: Tx, checked: Account) -> bool:
    """Whether the check of this account still counts: nothing that it depends on has changed since.

    That stays so until the transaction ends. Whoever changes the password ends all sessions after that, also
    one that is created here.
    """
    return await store.lock_unchanged(tx, checked)
