"""Checks passwords between two transactions.

A hash is slow by design, and a transaction that waited for it would keep a database connection meanwhile.
"""

from stead.control.accounts import store
from stead.control.accounts.passwords import verify_password
from stead.control.accounts.rules import Account
from stead.control.engines.postgres import Tx
from stead.shared.errors import AccountSuspended


async def check(account: Account | None, password: str) -> Account | None:
    """The account, if the password is right and it is not closed. Takes as long without an account. Raises
    AccountSuspended."""
    is_correct = await verify_password(account.password_hash if account else None, password)
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
