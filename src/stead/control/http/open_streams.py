"""The open streams of a process: how many there may be, and whether their callers may still read them.

A stream is authorized like any request when it begins, but may then last for hours. All streams are checked
together: one command to Redis reads the freshness marks of their credentials and accounts. A stream is
authorized again if a mark has changed, and otherwise only now and then.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from stead.control import metrics
from stead.control.http.principal import Address, Principal
from stead.control.http.rate_limits import FreshnessMarks, Limiter
from stead.shared.errors import ApiError, StreamsExceeded

CHECK_SECONDS = 2.0
REAUTHORIZE_SECONDS = 15.0
"""For changes that no mark announces: a membership or a key expires, a site gets another owner."""

Subject = tuple[str, str]
"""What streams are counted by: a credential, an account or an address."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How many streams of one process may be open at once."""

    per_credential: int
    per_account: int
    per_address: int


@dataclass(eq=False, slots=True)
class OpenStream:
    """`authorize` runs the checks of the request again, and raises the error that it would get now."""

    caller: Principal
    address: Address
    path: str
    frames: AsyncGenerator[bytes, None]
    authorize: Callable[[], Awaitable[None]]
    marks: FreshnessMarks | None
    checked_at: float = field(default_factory=time.monotonic)
    revoked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def request(self) -> tuple[str, str, Address]:
        """Streams for which this is equal are authorized together."""
        return self.caller.id, self.path, self.address

    @property
    def subjects(self) -> tuple[Subject, Subject, Subject]:
        return (
            ("credential", self.caller.id),
            ("account", self.caller.account_id),
            ("address", str(self.address)),
        )


class OpenStreams:
    def __init__(self, limits: StreamLimits, limiter: Limiter) -> None:
        self._limits = {
            "credential": limits.per_credential,
            "account": limits.per_account,
            "address": limits.per_address,
        }
        self._limiter = limiter
        self._open: set[OpenStream] = set()
        self._counts: Counter[Subject] = Counter()

    def add(self, stream: OpenStream) -> None:
        """Raises StreamsExceeded if there are too many of its credential, account or address."""
        for subject in stream.subjects:
            if self._counts[subject] >= self._limits[subject[0]]:
                raise StreamsExceeded(limit=self._limits[subject[0]], subject=subject[0])
        self._open.add(stream)
        self._counts.update(stream.subjects)
        metrics.open_streams.set(len(self._open))

    def remove(self, stream: OpenStream) -> None:
        self._open.discard(stream)
        self._counts.subtract(stream.subjects)
        for subject in stream.subjects:
            if not self._counts[subject]:
                del self._counts[subject]
        metrics.open_streams.set(len(self._open))

    async def check(self) -> None:
        """End every stream that its caller may no longer read."""
        groups: dict[tuple[str, str, Address], list[OpenStream]] = {}
        for stream in self._open:
            groups.setdefault(stream.request, []).append(stream)
        marks = await self._read_marks(self._open)
        for group in groups.values():
            caller = group[0].caller
            current = (marks[caller.id], marks[caller.account_id]) if marks is not None else None
            if any(_is_due(stream, current) for stream in group):
                await _authorize_again(group, current)

    async def _read_marks(self, streams: Iterable[OpenStream]) -> dict[str, bytes] | None:
        """None if Redis is unreachable: then every stream is authorized with every check."""
        subjects = {subject for each in streams for subject in (each.caller.id, each.caller.account_id)}
        return await self._limiter.read_marks(sorted(subjects)) if subjects else {}


def _is_due(stream: OpenStream, marks: FreshnessMarks | None) -> bool:
    is_old = time.monotonic() - stream.checked_at > REAUTHORIZE_SECONDS
    return marks is None or stream.marks != marks or is_old


async def _authorize_again(group: list[OpenStream], marks: FreshnessMarks | None) -> None:
    """The marks were read before: if something changes meanwhile, they differ at the next check."""
    try:
        await group[0].authorize()
    except ApiError:
        for stream in group:
            stream.revoked.set()
    for stream in group:
        stream.marks, stream.checked_at = marks, time.monotonic()
