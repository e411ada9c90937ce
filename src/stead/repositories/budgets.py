"""What the users of the gateway share, and how much of it each of them can take.

A node may be hostile. It gets no more than its part of the memory, each of its jobs no more than a few
requests at a time, and no job adds more bytes than its token says.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from stead.repositories import metrics
from stead.shared.repository_tokens import RepositoryToken

REQUESTS_PER_JOB = 16
"""restic uses five connections."""
NODE_PART = 4
"""A node can use one part of so many of the memory."""
KEEP_SECONDS = 3600.0
"""How long the count of an expired token is kept; a token is refused from its expiry on."""

MeasureAdded = Callable[[RepositoryToken], Awaitable[int]]
"""Reads from the object store how many bytes were added since the token was issued."""


class BudgetExhausted(Exception):
    """The token allows no more bytes."""


class TooManyRequests(Exception):
    """The job or its node uses its part already; the request can be repeated later."""


class RequestSlots:
    def __init__(self, per_job: int = REQUESTS_PER_JOB) -> None:
        self._per_job, self._running = per_job, Counter[tuple[str, str]]()

    @contextmanager
    def take(self, token: RepositoryToken) -> Iterator[None]:
        job = token.site, token.job
        if self._running[job] >= self._per_job:
            raise TooManyRequests
        self._running[job] += 1
        try:
            yield
        finally:
            self._running[job] -= 1
            if not self._running[job]:
                del self._running[job]


class UploadMemory:
    """Reserved in full before the body of a file is read, so that files never compete for the rest."""

    def __init__(self, total: int) -> None:
        self._total, self._used = total, 0
        self._by_node = Counter[str]()

    @contextmanager
    def reserve(self, token: RepositoryToken, size: int) -> Iterator[None]:
        node = token.node or token.site
        if self._used + size > self._total or self._by_node[node] + size > self._total // NODE_PART:
            raise TooManyRequests
        self._change(node, size)
        try:
            yield
        finally:
            self._change(node, -size)

    def _change(self, node: str, size: int) -> None:
        self._used += size
        self._by_node[node] += size
        if not self._by_node[node]:
            del self._by_node[node]
        metrics.uploading_bytes.set(self._used)


class ByteBudgets:
    """Counts what each token has added. After a restart, the count continues from the object store."""

    def __init__(self, measure_added: MeasureAdded) -> None:
        self._measure_added = measure_added
        self._added: dict[RepositoryToken, int] = {}

    async def spend(self, token: RepositoryToken, size: int) -> None:
        """Raises BudgetExhausted."""
        if token not in self._added:
            added = await self._measure_added(token)
            self._forget_expired()
            self._added.setdefault(token, added)
        if self._added[token] + size > token.max_added_bytes:
            raise BudgetExhausted
        self._added[token] += size

    def give_back(self, token: RepositoryToken, size: int) -> None:
        """For bytes that were spent, but not added."""
        self._added[token] -= size

    def _forget_expired(self) -> None:
        limit = time.time() - KEEP_SECONDS
        for token in [each for each in self._added if each.expires_at < limit]:
            del self._added[token]
