"""Keyset pagination, newest first. A cursor is opaque and valid only for one list with the same filters."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

import msgspec

from stead.control.engines.postgres import Tx
from stead.shared.errors import CursorInvalid

DEFAULT_LIMIT, MAX_LIMIT = 50, 100
NEWEST = "~"
"""Sorts after every identifier."""

_BINDING_BYTES = 8


T = TypeVar("T")


class Page(msgspec.Struct, Generic[T]):
    """One page of a list, as a handler returns it."""

    items: list[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page to read. `list_key` identifies the list and its filters; a cursor is bound to it."""

    limit: int
    after: str
    list_key: bytes

    @classmethod
    def read(cls, *, limit: int, cursor: str | None, list_key: bytes) -> "PageRequest":
        limit = min(max(limit, 1), MAX_LIMIT)
        return cls(limit, NEWEST if cursor is None else _decode_cursor(cursor, list_key), list_key)

    async def fetch(self, tx: Tx, row: Callable[..., T], sql: str, *args: object, by: str = "id") -> Page[T]:
        """Run `sql`. Its last two parameters are the id that all rows must be below, and the number of rows.

        `by` is the field that orders the rows; the cursor contains its last value.
        """
        items = await tx.all(row, sql, *args, self.after, self.limit + 1)
        if len(items) <= self.limit:
            return Page(items, None)
        items.pop()
        return Page(items, _encode_cursor(getattr(items[-1], by), self.list_key))

    def cut(self, items: list[T], last: Callable[[T], str]) -> Page[T]:
        """The page, of items that are already selected: at most one more than fit. `last` returns what the
        cursor contains, in ASCII."""
        kept = items[: self.limit]
        return Page(kept, _encode_cursor(last(kept[-1]), self.list_key) if len(items) > len(kept) else None)


def _binding(list_key: bytes, last: bytes) -> bytes:
    return blake2b(last, key=blake2b(list_key, digest_size=32).digest(), digest_size=_BINDING_BYTES).digest()


def _encode_cursor(last: str, list_key: bytes) -> str:
    text = last.encode()
    return urlsafe_b64encode(_binding(list_key, text) + text).decode().rstrip("=")


def _decode_cursor(cursor: str, list_key: bytes) -> str:
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        last = raw[_BINDING_BYTES:].decode("ascii")
    except ValueError:
        raise CursorInvalid from None
    if "\0" in last or cursor != _encode_cursor(last, list_key):
        raise CursorInvalid
    return last
