"""Pages by keyset: newest first, an opaque cursor that only fits the list and the filters it was made for."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

import msgspec

from stead.control.engines.postgres import Tx
from stead.shared.errors import CursorInvalid

DEFAULT_LIMIT, MOST_LIMIT = 50, 100
NEWEST = "~"
"""Sorts after every identifier."""

_BINDING_BYTES = 8


T = TypeVar("T")


class Page(msgspec.Struct, Generic[T]):
    """What a list operation returns; the engine wraps it in the list envelope."""

    items: list[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Where a walk stands. `walk` says which list, with which filters, is being walked."""

    limit: int
    after: str
    walk: bytes

    @classmethod
    def read(cls, *, limit: int, cursor: str | None, walk: bytes) -> "PageRequest":
        limit = min(max(limit, 1), MOST_LIMIT)
        return cls(limit, NEWEST if cursor is None else _open(cursor, walk), walk)

    async def of(self, tx: Tx, row: Callable[..., T], sql: str, *args: object, by: str = "id") -> Page[T]:
        """Run `sql`, whose last two parameters are the id to stay below and the number of rows to read.

        `by` is the field of a row that its order and therefore its cursor go by.
        """
        items = await tx.all(row, sql, *args, self.after, self.limit + 1)
        if len(items) <= self.limit:
            return Page(items, None)
        items.pop()
        return Page(items, _seal(getattr(items[-1], by), self.walk))


def _binding(walk: bytes, last: bytes) -> bytes:
    return blake2b(last, key=blake2b(walk, digest_size=32).digest(), digest_size=_BINDING_BYTES).digest()


def _seal(last: str, walk: bytes) -> str:
    text = last.encode()
    return urlsafe_b64encode(_binding(walk, text) + text).decode().rstrip("=")


def _open(cursor: str, walk: bytes) -> str:
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        last = raw[_BINDING_BYTES:].decode("ascii")
    except ValueError:
        raise CursorInvalid from None
    if "\0" in last or cursor != _seal(last, walk):
        raise CursorInvalid
    return last
