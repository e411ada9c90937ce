# Generated from `_async/pages.py` by `make generate`.
"""Lists: iterate over all items, or read page by page."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from stead_sdk._model import Model

T = TypeVar("T", bound=Model)


class Page(NamedTuple, Generic[T]):
    data: list[T]
    next_cursor: str | None
    has_more: bool
    request_id: str | None


class Pager(Generic[T]):
    """`for site in client.sites.list()` reads as many pages as it needs, and none before."""

    def __init__(
        self,
        read: Callable[[Mapping[str, object]], Any],
        query: Mapping[str, object],
        model: Callable[[Mapping[str, Any]], T],
    ) -> None:
        self._read, self._query, self._model = read, query, model

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first, or the one at `next_cursor` of the previous page."""
        query = self._query if cursor is None else {**self._query, "cursor": cursor}
        body = self._read(query)
        pagination = body.get("pagination") or {}
        return Page(
            [self._model(item) for item in body["data"]],
            pagination.get("next_cursor"),
            bool(pagination.get("has_more")),
            body.get("request_id"),
        )

    def pages(self) -> Iterator[Page[T]]:
        page = self.page()
        yield page
        while page.has_more and page.next_cursor:
            page = self.page(page.next_cursor)
            yield page

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.data:
                yield item
