"""Unsubscribe links. The token in a link is encrypted, so only tokens that this installation issued are
valid."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec
from msgspec import Struct

from stead.control.engines.postgres import Database
from stead.control.notifications import service
from stead.control.sealing import SealBroken, Sealer

PATH = "/notifications/unsubscribe"
_CONTEXT = b"notifications unsubscribe"


class Unsubscription(Struct, frozen=True):
    """An account, and the categories that it no longer receives by email."""

    account: str
    categories: list[str]


def link(sealer: Sealer, base_url: str, account: str, categories: list[str]) -> str:
    sealed = sealer.seal(msgspec.msgpack.encode(Unsubscription(account, categories)), context=_CONTEXT)
    return f"{base_url}{PATH}?token={urlsafe_b64encode(sealed).decode().rstrip('=')}"


def read_token(sealer: Sealer, token: str) -> Unsubscription | None:
    """Return None if the token was not issued by this installation."""
    try:
        sealed = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        return msgspec.msgpack.decode(sealer.open(sealed, context=_CONTEXT), type=Unsubscription)
    except (ValueError, SealBroken, msgspec.MsgspecError):
        return None


async def unsubscribe(database: Database, sealer: Sealer, token: str) -> Unsubscription | None:
    """Stop the emails that a token names. Return None if the token is not valid."""
    wanted = read_token(sealer, token)
    if wanted is not None:
        async with database.transaction() as tx:
            await service.disable_email(tx, wanted.account, wanted.categories)
    return wanted
