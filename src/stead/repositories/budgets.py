"""What the users of the gateway share, and how much of it each of them can take.

A node may be hostile. It gets no more than its part of the memory, each of its jobs no more than a few
requests at a time, and no job adds more bytes than its tokens say, however many of them it gets.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stead.repositories import metrics
from stead.shared.repository_tokens import RepositoryToken

REQUESTS_PER_JOB = 16
"""restic uses five connections."""
NODE_PART = 4
"""A node can use one part of so many of the memory."""
KEEP_SECONDS = 3600.0
"""How much longer the count of a job is kept than it can get tokens."""
LEAST_COST = 16 * 1024
"""What a file costs at least. Otherwise a job could add millions of tiny ones."""

MeasureAdded = Callable[[RepositoryToken], Awaitable[int]]
"""Reads from the object store what the files cost that were added since the token was issued."""


def cost_of(size: int) -> int:
    """How much of its budget a job spends on a file."""
    return max(size, LEAST_COST)


class BudgetExhausted(Exception):
    """The job may add no more bytes."""


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


@dataclass(slots=True)
class _Spent:
    added: int = 0
    keep_until: float = 0.0


class ByteBudgets:
    """Counts what each job has added. A step that is repeated gets a new token, but no new budget. After a
    restart, the count continues from the object store."""

    def __init__(self, measure_added: MeasureAdded) -> None:
        self._measure_added = measure_added
        self._jobs: dict[tuple[str, str], _Spent] = {}

    async def spend(self, token: RepositoryToken, size: int) -> None:
        """Raises BudgetExhausted."""
        job = token.site, token.job
        if job not in self._jobs:
            added = await self._measure_added(token)
            self._forget_ended()
            self._jobs.setdefault(job, _Spent(added))
        spent = self._jobs[job]
        # A job gets tokens until its time limit, which is a part of the lifetime of each.
        lifetime = token.expires_at - token.issued_at
        spent.keep_until = max(spent.keep_until, token.expires_at + lifetime + KEEP_SECONDS)
        if spent.added + cost_of(size) > token.max_added_bytes:
            raise BudgetExhausted
        spent.added += cost_of(size)

    def give_back(self, token: RepositoryToken, size: int) -> None:
        """For a file that was paid, but not added."""
        self._jobs[token.site, token.job].added -= cost_of(size)

    def _forget_ended(self) -> None:
        now = time.time()
        self._jobs = {job: spent for job, spent in self._jobs.items() if spent.keep_until > now}
