"""Publishes the output of a job to JetStream, line by line: in order, with secrets masked, and not faster
than the server stores it."""

import asyncio
import itertools
import time
from collections.abc import Collection
from secrets import token_hex
from types import TracebackType

import nats.errors
import nats.js.errors
import structlog
from nats.js.api import Header, PubAck

from stead.node.lines import Lines
from stead.node.nats_connection import NatsConnection
from stead.node.output_budget import OutputBudget
from stead.node.processes import StreamName
from stead.protocol.commands import OutputLine, encode
from stead.protocol.subjects import Node, job_output
from stead.shared.cancellation import cancel_all

WINDOW = 128
"""The number of unacknowledged lines. A window is acknowledged completely before the next is sent, so after a
lost connection the server has a prefix of the window and never a line without the lines before it."""
QUEUE = 256
"""The number of lines that wait for the current window; when the queue is full, the program has to wait."""
ACK_SECONDS = 5.0
ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
DRAIN_SECONDS, CANCELLED_DRAIN_SECONDS = 30.0, 2.0

LINES_PER_SECOND = 5_000
BURST = 10_000
LINE_COST_BYTES = 256
"""A longer line counts as several lines: one more for each of these many bytes."""

log = structlog.get_logger()


class RateLimit:
    """A token bucket. Callers wait while it is empty."""

    def __init__(self, per_second: float = LINES_PER_SECOND, burst: float = BURST) -> None:
        self._per_second, self._burst = per_second, burst
        self._left, self._at = float(burst), time.monotonic()

    async def spend(self, cost: float) -> None:
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second) - cost
        self._at = now
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_second)


class JobOutput:
    """The output of one command, used with `async with`. Leaving the block waits until all lines are stored,
    within a time limit."""

    def __init__(
        self,
        connection: NatsConnection,
        node: Node,
        job: str,
        *,
        secrets: Collection[str] = (),
        rate: RateLimit | None = None,
        budget: OutputBudget | None = None,
    ) -> None:
        self._connection, self._subject = connection, job_output(job, node)
        self._rate, self._budget = rate or RateLimit(), budget or OutputBudget()
        self._cutting = self._refused = False
        self._streams: dict[StreamName, Lines] = {"stdout": Lines(secrets), "stderr": Lines(secrets)}
        self._secrets = secrets
        self._queue: asyncio.Queue[OutputLine | None] = asyncio.Queue(QUEUE)
        self._id, self._count = token_hex(8), 0
        self._writer: asyncio.Task[None] | None = None

    async def say(self, text: str) -> None:
        lines = Lines(self._secrets)
        for line in (*lines.feed(text.encode()), *lines.flush()):
            await self._put(OutputLine(line), own=True)

    async def chunk(self, stream: StreamName, data: bytes) -> None:
        lines = self._streams[stream]
        for line in lines.feed(data) if data else lines.flush():
            await self._put(OutputLine(line, stream))

    async def _put(self, line: OutputLine, *, own: bool = False) -> None:
        # Lines that are cut count too: reading them keeps the agent busy.
        await self._rate.spend(1 + len(line.text) // LINE_COST_BYTES)
        if self._budget.take(line.text, own=own):
            await self._queue.put(line)
        elif not self._cutting:
            self._cutting = True
            await self.say(f"output: {self._budget.limit} is reached; further lines are not stored")

    async def _say_what_was_cut(self) -> None:
        if self._budget.cut_lines:
            lines, count = self._budget.cut_lines, self._budget.cut_bytes
            await self.say(f"output: {lines} lines with {count} bytes were cut")
        self._budget.save()

    async def __aenter__(self) -> "JobOutput":
        self._writer = asyncio.create_task(self._write())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._writer is None:
            return
        seconds = CANCELLED_DRAIN_SECONDS if kind is asyncio.CancelledError else DRAIN_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._say_what_was_cut()
                await self._queue.put(None)
                await asyncio.wait({self._writer})
        except TimeoutError:
            log.warning("output.lost", subject=self._subject, lines=self._queue.qsize())
        finally:
            await cancel_all([self._writer])

    async def _write(self) -> None:
        while (line := await self._queue.get()) is not None:
            window = [line]
            while len(window) < WINDOW and not self._queue.empty():
                following = self._queue.get_nowait()
                if following is None:
                    await self._send(window)
                    return
                window.append(following)
            await self._send(window)

    async def _send(self, window: list[OutputLine]) -> None:
        unsent, pause = [(self._next_id(), encode(line)) for line in window], FIRST_PAUSE
        for attempt in range(ATTEMPTS):
            # A server that refuses to store output must not hold up the job; one that is down comes back.
            if (attempt or self._refused) and await self._is_refused(*unsent[0]):
                break
            unsent = await self._send_once(unsent)
            if not unsent:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        for _, data in unsent:
            self._budget.count_cut(len(data))
        log.warning("output.lost", subject=self._subject, lines=len(unsent))

    async def _is_refused(self, id_: str, data: bytes) -> bool:
        """Whether the server answers that it does not store this line. The library does not tell it for lines
        of a window: they only stay unacknowledged."""
        jetstream = await self._connection.jetstream()
        try:
            await jetstream.publish(self._subject, data, headers={Header.MSG_ID: id_}, timeout=ACK_SECONDS)
        except nats.js.errors.APIError:
            self._refused = True
        except (nats.errors.Error, OSError):
            return False
        else:
            self._refused = False
        return self._refused

    async def _send_once(self, lines: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
        """Return the first line that was not acknowledged and all after it. The server drops lines that it
        already has, by their ids."""
        jetstream = await self._connection.jetstream()
        acks: list[asyncio.Future[PubAck]] = []
        try:
            for id_, data in lines:
                headers = {Header.MSG_ID: id_}
                acks.append(await jetstream.publish_async(self._subject, data, headers=headers))
            await asyncio.wait(acks, timeout=ACK_SECONDS)
        except (nats.errors.Error, OSError) as error:
            log.warning("output.delayed", subject=self._subject, error=type(error).__name__)
        finally:
            for ack in acks:
                ack.cancel()
        stored = itertools.takewhile(_is_acknowledged, acks)
        return lines[sum(1 for _ in stored) :]

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._id}-{self._count}"


def _is_acknowledged(ack: asyncio.Future[PubAck]) -> bool:
    return ack.done() and not ack.cancelled() and ack.exception() is None
