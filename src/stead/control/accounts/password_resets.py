"""A new password for somebody who has lost theirs, and reads mail at the address of the account."""

import secrets
from hashlib import sha256

from stead.control.accounts import store
from stead.control.accounts.rules import Account, ResetNotFound, normalize_email
from stead.control.engines.postgres import Tx
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.outbox import mail, mail_limits
from stead.control.outbox.mail_limits import EmailsExhausted
from stead.control.sealing import Sealer

BATCH_SIZE = 100


async def request(tx: Tx, email: str) -> None:
    """Save the request. A worker looks for the account, so that neither the response nor the time it takes
    depends on whether there is one."""
    await store.insert_reset_request(tx, normalize_email(email))


async def answer_requests(tx: Tx, sealer: Sealer) -> int:
    """Answer a batch of requests. Returns how many there were. Accounts are locked in one order."""
    emails = await store.take_reset_requests(tx, BATCH_SIZE)
    for email in sorted(set(emails)):
        await _send(tx, sealer, email)
    return len(emails)


async def _send(tx: Tx, sealer: Sealer, email: str) -> None:
    """Send a token, if there is an account with this address, and the address is verified.

    An address that is not verified may be of somebody else, who would take over an account that a stranger
    has prepared. If the address has received enough for today, no email is sent, and the newest token that
    was sent stays valid.
    """
    account = await store.by_email(tx, email)
    token = secrets.token_urlsafe(32)
    if account is None or account.email_verified_at is None or account.closed_at is not None:
        return
    try:
        await mail_limits.count_email(tx, account.id, account.email, is_own=True)
    except EmailsExhausted:
        return
    await store.replace_reset(tx, account, _hash(token))
    await mail.enqueue_email(tx, sealer, _token_email(account.email, token))


async def require_token(tx: Tx, token: str) -> None:
    """Before a hash is computed for it. `confirm` checks the rest."""
    if not await store.has_reset(tx, _hash(token)):
        raise ResetNotFound


async def confirm(tx: Tx, sealer: Sealer, token: str, password_hash: str) -> Account:
    """Set the password and end all sessions. API keys stay: they are revoked one by one."""
    account = await store.use_reset(tx, _hash(token))
    if account is None:
        raise ResetNotFound
    await replace_password(tx, account, password_hash)
    await mail.enqueue_email(tx, sealer, _changed_email(account.email))
    return account


async def replace_password(tx: Tx, account: Account, password_hash: str) -> None:
    await store.set_password(tx, account.id, password_hash)
    # Somebody who knew the old password may have asked for another address.
    await store.delete_address_changes(tx, account.id)
    await store.delete_resets(tx, account.id)
    ended = await store.revoke_sessions(tx, account.id, except_for=None)
    await invalidate_cached_principals(tx, *ended)


def _token_email(to: str, token: str) -> mail.Email:
    """Contains nothing that the person who asked for it has written: it may be a stranger."""
    return mail.Email(
        to=to,
        subject="Choose a new password",
        text=(
            "Somebody, hopefully you, asked for a new password for your account. Choose it with this token"
            f" within an hour:\n\n    {token}\n\n"
            'With the API: POST /v1/password-resets/confirm with {"token": "…", "new_password": "…"}.\n\n'
            "If it was not you, ignore this: your password stays as it is.\n"
        ),
    )


def _changed_email(to: str) -> mail.Email:
    return mail.Email(
        to=to,
        subject="The password of your account was changed",
        text=(
            "Your account has a new password, and all its sessions have ended. API keys are still valid.\n\n"
            "If it was not you, somebody reads your mail: contact the operator of the service.\n"
        ),
    )


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
