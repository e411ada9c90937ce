"""Sign-ups that wait until their address is confirmed.

Whoever signs up learns nothing about other customers: the response, the work and the number of emails are the
same for an address that has an account already. Only the email differs.
"""

import secrets
from hashlib import sha256

from stead.control.accounts import store, verification
from stead.control.accounts.passwords import Source, verify_password
from stead.control.accounts.rules import (
    VERIFICATION_LIFETIME,
    Account,
    EmailTaken,
    SignUp,
    normalize_email,
)
from stead.control.accounts.schema import NewAccount
from stead.control.engines.postgres import Tx
from stead.control.outbox import mail
from stead.control.sealing import Sealer
from stead.shared.errors import FieldInvalid
from stead.shared.ids import AccountId, new_id

PLAN = "free"


_NOT_THEIR_SIGN_UP = (
    "The token belongs to a sign-up: send the password that was chosen there. If it is not yours, somebody"
    " else used your address. Sign up yourself, and use the token of that email."
)


async def request(tx: Tx, sealer: Sealer, new: NewAccount, password_hash: str, network: str) -> SignUp:
    """Save the sign-up and send a token. An address that has an account gets a notice instead. One that has
    received enough gets nothing."""
    wanted = SignUp(AccountId(new_id("client")), normalize_email(new.email), new.name, password_hash)
    sent = await store.count_sign_ups(tx, wanted.email, network, tx.now - VERIFICATION_LIFETIME)
    if not sent.allows_another(tx.now):
        return wanted
    token = secrets.token_urlsafe(32)
    owner = await store.by_email(tx, wanted.email)
    await store.insert_sign_up(tx, wanted, _hash(token), network, usable=owner is None)
    email = _token_email(wanted.email, token) if owner is None else verification.taken_email(owner)
    await mail.enqueue_email(tx, sealer, email)
    return wanted


async def find(tx: Tx, token: str) -> SignUp | None:
    return await store.find_sign_up(tx, _hash(token))


async def check(found: SignUp, password: str | None, source: Source) -> None:
    """The token shows who reads the mail, the password who signed up. Both must be the same person.

    A stranger who signs up with the address of another must not get an account with their own password and
    API keys.
    """
    if password is None or not await verify_password(found.password_hash, password, source):
        raise FieldInvalid(param="password", reason=_NOT_THEIR_SIGN_UP)


async def confirm(tx: Tx, token: str, found: SignUp) -> Account | None:
    """Create the account of a sign-up that was checked; None if the token was used meanwhile. Raises
    EmailTaken if the address got an account meanwhile."""
    if not await store.use_sign_up(tx, _hash(token)):
        return None
    account = Account(
        id=found.account_id,
        email=found.email,
        name=found.name,
        password_hash=found.password_hash,
        plan=PLAN,
        default_team_id=None,
        email_verified_at=tx.now,
    )
    if not await store.insert(tx, account):
        raise EmailTaken
    return account


def _token_email(to: str, token: str) -> mail.Email:
    """Contains nothing that the person who asked for it has written: it may be a stranger."""
    return mail.Email(
        to=to,
        subject="Verify your email address",
        text=(
            "Somebody, hopefully you, wants to open an account with this email address. Confirm it with this"
            f" token within a day:\n\n    {token}\n\n"
            'With the API: POST /v1/accounts/verify-email with {"token": "…", "password": "…"}, the password'
            " that you chose when you signed up.\n\n"
            "If it was not you, ignore this: there is no account unless the address is confirmed.\n"
        ),
    )


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
