"""Lists: iterate over all items, or read page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from stead_sdk._model import Model

T = TypeVar("T", bound=Model)


class Page(NamedTuple, Generic[T]):
    data: list[T]
    next_cursor: str | None
    has_more: bool
    request_id: str | None


class AsyncPager(Generic[T]):
    """`async for site in client.sites.list()` reads as many pages as it needs, and none before."""

    def __init__(
        self,
        read: Callable[[Mapping[str, object]], Awaitable[Any]],
        query: Mapping[str, object],
        model: Callable[[Mapping[str, Any]], T],
    ) -> None:
        self._read, self._query, self._model = read, query, model

    async def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first, or the one at `next_cursor` of the previous page."""
        query = self._query if cursor is None else {**self._query, "cursor": cursor}
        body = await self._read(query)
        pagination = body.get("pagination") or {}
        return Page(
            [self._model(item) for item in body["data"]],
            pagination.get("next_cursor"),
            bool(pagination.get("has_more")),
            body.get("request_id"),
        )

    async def pages(self) -> AsyncIterator[Page[T]]:
        page = await self.page()
        yield page
        while page.has_more and page.next_cursor:
            page = await self.page(page.next_cursor)
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item
