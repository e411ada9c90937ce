"""Sends the mail of WordPress sites to the operator's relay: limited for each site, stored durably, repeated
until the relay takes it."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext

import structlog
from msgspec.structs import replace

from stead.node.uninterrupted import run_in_thread, run_uninterrupted
from stead.node.wordpress.mail_message import MAX_BYTES, MailRefused, prepare
from stead.node.wordpress.mail_relay import MailRelay, RelayRefused, RelayUnavailable
from stead.node.wordpress.mail_spool import MailSpool, WaitingMail
from stead.shared.token_bucket import TokenBucket

READ_AT_ONCE = 16
SMALL_BYTES = 64 * 1024
"""Larger messages share places while they are read, so a site must send them without a break."""
IDLE_SECONDS, READ_SECONDS = 1.0, 3.0
SEND_AT_ONCE = 4
TICK_SECONDS = 5.0
PAUSE_SECONDS = 30.0
"""When the spool cannot be written to, for example because the disk is full."""
LINES_PER_SECOND, LINES_AT_ONCE = 1.0, 5
"""In the log of a site."""
CHUNK = 64 * 1024

log = structlog.get_logger()

WriteLog = Callable[[str, str], Awaitable[None]]


class SiteMail:
    """`relay` is None where the operator has set none. `write_log` appends a line to the log of a site."""

    def __init__(self, spool: MailSpool, relay: MailRelay | None, sender: str, write_log: WriteLog) -> None:
        self._spool, self._relay, self._sender, self._write_log = spool, relay, sender, write_log
        self._reading, self._using = asyncio.Semaphore(READ_AT_ONCE), asyncio.Lock()
        self._locks: dict[str, asyncio.Lock] = {}
        self._lines: dict[str, TokenBucket] = {}
        self._added = asyncio.Event()
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._served: dict[str, int] = {}
        self._turn = 0
        self._unrecorded: dict[int, WaitingMail] = {}
        self._not_before = 0.0

    async def accept(self, environment: str, size: int, reader: asyncio.StreamReader) -> str:
        """Why the message that follows is not sent; empty if it is accepted."""
        # One at a time for each site: messages are in memory until they are stored.
        async with self._locks.setdefault(environment, asyncio.Lock()):
            try:
                await self._store(environment, size, reader)
            except MailRefused as refused:
                refusal = str(refused)
            except sqlite3.Error as error:
                log.warning("mail.not_stored", error=type(error).__name__)
                refusal = "the node cannot store it now"
            else:
                return ""
            await self._note(environment, refusal)
        return refusal

    async def _store(self, environment: str, size: int, reader: asyncio.StreamReader) -> None:
        try:
            await self._check(environment, size)
        except MailRefused:
            if size <= 2 * MAX_BYTES:
                await skip_message(reader, size)
            raise
        async with self._reading if size > SMALL_BYTES else nullcontext():
            raw = await (read_message(reader, size) if size > SMALL_BYTES else reader.readexactly(size))
            mail = await run_in_thread(prepare, raw, environment, self._sender)
            async with self._using:
                await run_in_thread(self._spool.add, environment, mail)
        self._added.set()

    async def _check(self, environment: str, size: int) -> None:
        if self._relay is None:
            raise MailRefused("the operator of the platform has not set a mail relay")
        if size > MAX_BYTES:
            raise MailRefused(f"the message is larger than {MAX_BYTES >> 20} MiB")
        async with self._using:
            await run_in_thread(self._spool.check, environment)

    async def _note(self, environment: str, reason: str) -> None:
        """In the log of the site, unless there are too many lines already."""
        if self._lines.setdefault(environment, TokenBucket(LINES_PER_SECOND, LINES_AT_ONCE)).take():
            await self._write_log(environment, f"mail: not sent: {reason}")

    async def forget(self, environment: str) -> None:
        async with self._using:
            await run_in_thread(self._spool.forget, environment)
        self._locks.pop(environment, None)
        self._lines.pop(environment, None)

    async def run(self) -> None:
        """Send what waits, until cancelled. Sites take turns."""
        try:
            while True:
                self._added.clear()
                try:
                    await self._start_due()
                except sqlite3.Error as error:
                    self._pause(error)
                try:
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._added.wait()
                except TimeoutError:
                    continue
        finally:
            for task in self._sending.values():
                task.cancel()
            if self._sending:
                await asyncio.wait(self._sending.values())

    async def _start_due(self) -> None:
        if self._relay is None or len(self._sending) >= SEND_AT_ONCE or time.monotonic() < self._not_before:
            return
        async with self._using:
            due = await run_in_thread(self._spool.due)
        self._served = {name: turn for name, turn in self._served.items() if name in due}
        waiting = sorted((name for name in due if name not in self._sending), key=self._last_turn)
        for name in waiting[: SEND_AT_ONCE - len(self._sending)]:
            self._turn += 1
            self._served[name] = self._turn
            self._sending[name] = asyncio.create_task(self._send(name, due[name], self._relay))

    def _last_turn(self, name: str) -> int:
        return self._served.get(name, 0)

    def _pause(self, error: sqlite3.Error) -> None:
        log.warning("mail.paused", error=type(error).__name__)
        self._not_before = time.monotonic() + PAUSE_SECONDS

    async def _send(self, environment: str, number: int, relay: MailRelay) -> None:
        try:
            if unrecorded := self._unrecorded.get(number):
                await run_uninterrupted(self._record(unrecorded))
                return
            async with self._using:
                mail = await run_in_thread(self._spool.begin, number)
            if mail is not None:
                await self._try(mail, relay)
        except sqlite3.Error as error:
            self._pause(error)
        finally:
            del self._sending[environment]
            self._added.set()

    async def _try(self, mail: WaitingMail, relay: MailRelay) -> None:
        environment, left, delayed, refusal = mail.environment, mail.recipients, "", ""
        try:
            refused = await relay.send(envelope_sender(self._sender, environment), left, mail.content)
        except RelayUnavailable as unavailable:
            delayed = str(unavailable)
        except RelayRefused as error:
            left, refusal = (), str(error)
        else:
            left = tuple(name for name, code in refused.items() if code < 500)
            delayed = f"the relay refused {len(left)} recipients for now" if left else ""
            refusal = _describe_refused([code for code in refused.values() if code >= 500], mail)
        try:
            waits = await run_uninterrupted(self._record(replace(mail, recipients=left, content=b"")))
        finally:
            if refusal:
                await self._note(environment, refusal)
        if delayed:
            log.warning("mail.delayed", environment=environment, reason=delayed)
            if not waits:
                await self._note(environment, f"given up after a day: {delayed}")

    async def _record(self, mail: WaitingMail) -> bool:
        """Whether the message waits for another attempt. If this cannot be stored, it is remembered: the
        message is not sent again to those who have it."""
        self._unrecorded[mail.id] = mail
        async with self._using:
            waits = await run_in_thread(self._spool.postpone, mail)
        del self._unrecorded[mail.id]
        return waits


async def read_message(reader: asyncio.StreamReader, size: int) -> bytes:
    """Raises MailRefused if the site is slow."""
    data = bytearray()
    try:
        async with asyncio.timeout(READ_SECONDS):
            while len(data) < size:
                async with asyncio.timeout(IDLE_SECONDS):
                    data += await reader.readexactly(min(size - len(data), CHUNK))
    except TimeoutError:
        raise MailRefused("the site sent it too slowly") from None
    return bytes(data)


def _describe_refused(codes: list[int], mail: WaitingMail) -> str:
    if not codes:
        return ""
    some = f"{len(codes)} of {len(mail.recipients)}" if len(codes) < len(mail.recipients) else "all"
    return f"the relay refused {some} recipients ({codes[0]})"


async def skip_message(reader: asyncio.StreamReader, size: int) -> None:
    """Read the message to its end, so that the site reads the answer."""
    while size > 0 and (data := await reader.read(min(size, CHUNK))):
        size -= len(data)


def envelope_sender(sender: str, environment: str) -> str:
    """Bounces go to the operator, and name the environment."""
    local, _, domain = sender.rpartition("@")
    return f"{local}+{environment}@{domain}"
