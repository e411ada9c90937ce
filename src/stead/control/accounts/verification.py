"""Verifies that people receive mail at the address they give."""

import secrets
from dataclasses import replace
from hashlib import sha256

from stead.control.accounts import store
from stead.control.accounts.rules import Account, EmailTaken, EmailUnverified, VerificationNotFound
from stead.control.engines.postgres import Tx, UniqueViolation
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.outbox import mail, mail_limits
from stead.control.sealing import Sealer
from stead.shared.errors import AccountNotFound
from stead.shared.ids import AccountId


async def send(tx: Tx, sealer: Sealer, account: Account, email: str) -> None:
    """Send a token to an address that the account has, or wants to have. If another account has it, its owner
    gets a notice instead, and whoever asked cannot tell: the token exists, but nobody gets it."""
    await mail_limits.count_email(tx, account.id, email, is_own=email == account.email)
    token = secrets.token_urlsafe(32)
    await store.replace_verification(tx, account.id, email, _hash(token))
    owner = await store.by_email(tx, email)
    is_taken = owner is not None and owner.id != account.id
    await mail.enqueue_email(tx, sealer, taken_email(owner) if owner and is_taken else _email(email, token))


async def confirm(tx: Tx, sealer: Sealer, token: str) -> Account:
    """The token shows that its owner reads mail at the address, which the account has from now on.

    A verified address that it had before is told, in case somebody else changed it.
    """
    verification = await store.use_verification(tx, _hash(token))
    before = await store.get(tx, verification.account_id) if verification else None
    if verification is None or before is None:
        raise VerificationNotFound
    try:
        await store.set_verified_email(tx, verification.account_id, verification.email)
    except UniqueViolation:
        raise EmailTaken from None
    await invalidate_cached_principals(tx, verification.account_id)
    if before.email != verification.email and before.email_verified_at is not None:
        await mail.enqueue_email(tx, sealer, _changed_email(before.email))
    return replace(before, email=verification.email, email_verified_at=tx.now)


async def require_verified(tx: Tx, owner: AccountId) -> None:
    account = await store.get(tx, owner)
    if account is None:
        raise AccountNotFound
    if account.email_verified_at is None:
        raise EmailUnverified


def _email(to: str, token: str) -> mail.Email:
    """Contains nothing that the person who asked for it has written: it may be a stranger."""
    return mail.Email(
        to=to,
        subject="Verify your email address",
        text=(
            "Somebody, hopefully you, gave this email address for an account. Confirm it with this token"
            f" within a day:\n\n    {token}\n\n"
            'With the API: POST /v1/accounts/verify-email with {"token": "…"}.\n\n'
            "If it was not you, ignore this: nothing happens unless the address is confirmed.\n"
        ),
    )


def taken_email(owner: Account) -> mail.Email:
    """The notice to the owner of an address that somebody wanted to use for another account."""
    intro = "Somebody, perhaps you, wanted to use this email address for a new account, or for another one. "
    if owner.closed_at is not None:
        return mail.Email(
            to=owner.email,
            subject="Your account was closed",
            text=(
                f"{intro}Its account was closed, and is kept for a while. Until it is erased, the address"
                " cannot be used again.\n\n"
                "If you want your account back, contact the operator of the service. If it was not you,"
                " ignore this.\n"
            ),
        )
    return mail.Email(
        to=owner.email,
        subject="You have an account already",
        text=(
            f"{intro}It has an account already, and nothing was changed.\n\n"
            "If you have lost the password, choose a new one: POST /v1/password-resets.\n\n"
            "If it was not you, ignore this. Whoever it was has not been told that you have an account.\n"
        ),
    )


def _changed_email(to: str) -> mail.Email:
    return mail.Email(
        to=to,
        subject="The email address of your account was changed",
        text=(
            "Your account has another email address now. This one is no longer used.\n\n"
            "If it was not you, somebody knows your password: contact the operator of the service.\n"
        ),
    )


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
