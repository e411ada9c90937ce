"""Mailing notifications: a letter at once, then one for all that happens in a quarter of an hour.

Every letter says how to get no more of its kind: to people, and to mail programs with one click (RFC 8058).
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec
from msgspec import Struct

from stead.control.engines.postgres import Database
from stead.control.notifications import service, store
from stead.control.notifications.letters import letter
from stead.control.notifications.rules import DIGEST_EVERY
from stead.control.outbox import mail
from stead.control.sealing import SealBroken, Sealer

UNSUBSCRIBE_PATH = "/notifications/unsubscribe"
_CONTEXT = b"notifications unsubscribe"


class Wish(Struct, frozen=True):
    """Who wants no more mail of which categories. Only what we sealed ourselves is believed."""

    account: str
    categories: list[str]


class Mailing:
    def __init__(self, database: Database, sealer: Sealer, *, base_url: str) -> None:
        self._database, self._sealer, self._base_url = database, sealer, base_url.rstrip("/")

    async def post_due(self) -> int:
        """Write the letters that are due, one person a transaction; how many."""
        posted = 0
        while await self._post_next():
            posted += 1
        return posted

    async def _post_next(self) -> bool:
        async with self._database.transaction() as tx:
            found = await store.next_to_mail(tx, DIGEST_EVERY)
            if found is None:
                return False
            account, email = found
            notices = await store.take_to_mail(tx, account)
            if notices:
                categories = sorted({each.category for each in notices})
                link = f"{self._base_url}{UNSUBSCRIBE_PATH}?token={token(self._sealer, account, categories)}"
                await mail.post(
                    tx, self._sealer, letter(email, notices, base_url=self._base_url, unsubscribe=link)
                )
        return True


def token(sealer: Sealer, account: str, categories: list[str]) -> str:
    sealed = sealer.seal(msgspec.msgpack.encode(Wish(account, categories)), context=_CONTEXT)
    return urlsafe_b64encode(sealed).decode().rstrip("=")


async def unsubscribe(database: Database, sealer: Sealer, token_: str) -> Wish | None:
    """Carry out the wish of a token; None when we did not make it."""
    wish = read(sealer, token_)
    if wish is not None:
        async with database.transaction() as tx:
            await service.stop_mail(tx, wish.account, wish.categories)
    return wish


def read(sealer: Sealer, token_: str) -> Wish | None:
    try:
        sealed = urlsafe_b64decode(token_ + "=" * (-len(token_) % 4))
        return msgspec.msgpack.decode(sealer.open(sealed, context=_CONTEXT), type=Wish)
    except (ValueError, SealBroken, msgspec.MsgspecError):
        return None
