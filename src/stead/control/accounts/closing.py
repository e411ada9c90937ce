"""Closing an account: what ends at once, and what is erased after thirty days."""

import secrets
from functools import partial

from stead.control.accounts import closing_store as store
from stead.control.accounts import password_checks
from stead.control.accounts import store as accounts
from stead.control.accounts.passwords import OPERATOR, hash_password
from stead.control.accounts.rules import CLOSED_KEPT, Account, PasswordIncorrect
from stead.control.accounts.schema import ClosedAccountView
from stead.control.engines.postgres import Database, Tx
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.keys import service as keys
from stead.control.members import service as members
from stead.control.outbox import mail
from stead.control.sealing import Sealer
from stead.control.sites import service as sites
from stead.control.tasks import in_batches

BATCH_SIZE = 20


async def close(tx: Tx, sealer: Sealer, account: Account | None) -> ClosedAccountView:
    """The password of the account was checked. A worker deletes the sites, a few at a time."""
    if account is None:
        raise PasswordIncorrect
    # Before the account is locked: everything locks teams first.
    await members.leave_all(tx, account.id)
    if not await password_checks.accept(tx, account):
        raise PasswordIncorrect
    await store.close(tx, account.id)
    await accounts.delete_address_changes(tx, account.id)
    await accounts.delete_resets(tx, account.id)
    await keys.revoke_all(tx, account.id)
    ended = await accounts.revoke_sessions(tx, account.id, except_for=None)
    await invalidate_cached_principals(tx, account.id, *ended)
    closed = ClosedAccountView(tx.now, await sites.count_of_account(tx, account.id), tx.now + CLOSED_KEPT)
    if account.email_verified_at is not None:
        await mail.enqueue_email(tx, sealer, _closed_email(account.email, closed))
    return closed


async def erase_all(database: Database) -> None:
    # One for all of them, before the transactions, because hashes are slow. Nobody knows the password.
    password_hash = await hash_password(secrets.token_urlsafe(32), OPERATOR)
    await in_batches(database, partial(erase, password_hash=password_hash))


async def erase(tx: Tx, password_hash: str) -> int:
    """Erase a batch of accounts that were closed longer than thirty days ago. Returns how many.

    The rows stay: deleted sites and the audit trail refer to them. Their addresses are free again.
    """
    found = await store.list_expired(tx, tx.now - CLOSED_KEPT, BATCH_SIZE)
    for account in found:
        # Those that were being created while the account was closed.
        await keys.revoke_all(tx, account)
        await store.erase(tx, account, password_hash=password_hash)
    return len(found)


def _closed_email(to: str, closed: ClosedAccountView) -> mail.Email:
    return mail.Email(
        to=to,
        subject="Your account was closed",
        text=(
            f"Your account was closed, and its sites ({closed.sites}) are being deleted. All sessions and API"
            f" keys have ended.\n\nOn {closed.erased_at:%Y-%m-%d} everything is erased. Until then, the"
            " operator of the service can open the account again. If it was not you, contact them soon.\n"
        ),
    )
