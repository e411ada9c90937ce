"""Pages of lists that a site answers."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import quote, unquote

from stead.control.http.pagination import NEWEST, Page, PageRequest
from stead.shared.errors import CursorInvalid

T = TypeVar("T")
_MARK = "="
"""Begins a cursor, so that no name is taken for NEWEST."""
MAX_NUMBER = 2**63 - 1


def page_of(items: Sequence[T], page: PageRequest, key: Callable[[T], str]) -> Page[T]:
    """A page of a complete list, in the order of the key, which is unique."""
    after = "" if page.after == NEWEST else unquote(page.after.removeprefix(_MARK))
    rest = sorted((each for each in items if key(each) > after), key=key)
    return page.cut(rest, lambda each: _MARK + quote(key(each), safe=""))


def number_before(page: PageRequest) -> int:
    """For lists that are ordered by a number, the highest first: all numbers of the page are below this."""
    if page.after == NEWEST:
        return MAX_NUMBER
    if not page.after.isdigit():
        raise CursorInvalid
    return min(int(page.after), MAX_NUMBER)
