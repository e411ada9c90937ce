"""What a job's work says, line by line into JetStream: in order, masked, and no faster than it is kept."""

import asyncio
import itertools
import time
from collections.abc import Collection
from secrets import token_hex
from types import TracebackType

import nats.errors
import structlog
from nats.js.api import Header, PubAck

from stead.node.lines import Lines
from stead.node.nats_connection import NatsConnection
from stead.node.processes import StreamName
from stead.protocol.commands import OutputLine, encode
from stead.protocol.subjects import Node, job_output

WINDOW = 128
"""Lines in flight at most. A window is written in one go and wholly acknowledged before the next, so after a
lost connection the server has the first few of it and never a later one without an earlier."""
WAITING = 256
"""Lines waiting for the window before them at most; then the program that writes them waits."""
ACK_BOUND = 5.0
TRIES = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
DRAIN_BOUND, CANCELLED_BOUND = 30.0, 2.0

LINES_A_SECOND = 5_000
BURST = 10_000
COSTLY = 256
"""A line counts once more for each this many bytes."""

log = structlog.get_logger()


class RateLimit:
    """A bucket that refills continuously; who finds it empty waits."""

    def __init__(self, a_second: float = LINES_A_SECOND, burst: float = BURST) -> None:
        self._a_second, self._burst = a_second, burst
        self._left, self._at = float(burst), time.monotonic()

    async def spend(self, cost: float) -> None:
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._a_second) - cost
        self._at = now
        if self._left < 0:
            await asyncio.sleep(-self._left / self._a_second)


class JobOutput:
    """Of one command, inside `async with`: leaving waits until what was said is kept, within a bound."""

    def __init__(
        self,
        link: NatsConnection,
        node: Node,
        job: str,
        *,
        secrets: Collection[str] = (),
        rate: RateLimit | None = None,
    ) -> None:
        self._link, self._subject = link, job_output(job, node)
        self._rate = rate or RateLimit()
        self._streams: dict[StreamName, Lines] = {"stdout": Lines(secrets), "stderr": Lines(secrets)}
        self._secrets = secrets
        self._waiting: asyncio.Queue[OutputLine | None] = asyncio.Queue(WAITING)
        self._name, self._count = token_hex(8), 0
        self._writer: asyncio.Task[None] | None = None

    async def say(self, text: str) -> None:
        own = Lines(self._secrets)
        for line in (*own.feed(text.encode()), *own.flush()):
            await self._put(OutputLine(line))

    async def chunk(self, stream: StreamName, data: bytes) -> None:
        lines = self._streams[stream]
        for line in lines.feed(data) if data else lines.flush():
            await self._put(OutputLine(line, stream))

    async def _put(self, line: OutputLine) -> None:
        await self._rate.spend(1 + len(line.text) // COSTLY)
        await self._waiting.put(line)

    async def __aenter__(self) -> "JobOutput":
        self._writer = asyncio.create_task(self._write())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._writer is None:
            return
        bound = CANCELLED_BOUND if kind is asyncio.CancelledError else DRAIN_BOUND
        try:
            async with asyncio.timeout(bound):
                await self._waiting.put(None)
                await asyncio.wait({self._writer})
        except TimeoutError:
            log.warning("output.lost", subject=self._subject, lines=self._waiting.qsize())
        finally:
            self._writer.cancel()
            await asyncio.wait({self._writer})

    async def _write(self) -> None:
        while (line := await self._waiting.get()) is not None:
            window = [line]
            while len(window) < WINDOW and not self._waiting.empty():
                following = self._waiting.get_nowait()
                if following is None:
                    await self._send(window)
                    return
                window.append(following)
            await self._send(window)

    async def _send(self, window: list[OutputLine]) -> None:
        unsent, pause = [(self._next_id(), encode(line)) for line in window], FIRST_PAUSE
        for _ in range(TRIES):
            unsent = await self._send_once(unsent)
            if not unsent:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        log.warning("output.lost", subject=self._subject, lines=len(unsent))

    async def _send_once(self, lines: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
        """Returns the lines from the first on that was not acknowledged; the server knows doubles by id."""
        jetstream = await self._link.jetstream()
        acks: list[asyncio.Future[PubAck]] = []
        try:
            for id_, data in lines:
                headers = {Header.MSG_ID: id_}
                acks.append(await jetstream.publish_async(self._subject, data, headers=headers))
            await asyncio.wait(acks, timeout=ACK_BOUND)
        except (nats.errors.Error, OSError) as error:
            log.warning("output.delayed", subject=self._subject, error=type(error).__name__)
        finally:
            for ack in acks:
                ack.cancel()
        kept = itertools.takewhile(_acknowledged, acks)
        return lines[sum(1 for _ in kept) :]

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._name}-{self._count}"


def _acknowledged(ack: asyncio.Future[PubAck]) -> bool:
    return ack.done() and not ack.cancelled() and ack.exception() is None
