"""Tells the control plane what clones tried to send. Each mail is reported at once and repeated for an hour:
a worker that was offline misses nothing."""

import asyncio
import time
from collections.abc import Callable, Sequence

import nats.errors
import structlog

from stead.node.nats_connection import NatsConnection
from stead.protocol import subjects
from stead.protocol.commands import CapturedMail, MailReport, encode

LOOK_SECONDS, REPEAT_SECONDS = 2.0, 60.0
PER_MESSAGE = 5
"""A message of NATS has at most 1 MB; a mail has at most 180 KB here."""

log = structlog.get_logger()


class MailReporter:
    def __init__(
        self, node: str, connection: NatsConnection, list_mails: Callable[[], Sequence[CapturedMail]]
    ) -> None:
        self._node, self._connection, self._list_mails = node, connection, list_mails
        self._reported: dict[str, float] = {}

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.report()
            except (nats.errors.Error, OSError) as error:
                log.info("mail.report_delayed", error=type(error).__name__)

    async def report(self) -> None:
        now, mails = time.monotonic(), self._list_mails()
        self._reported = {mail.key: self._reported[mail.key] for mail in mails if mail.key in self._reported}
        due = [
            mail for mail in mails if now - self._reported.get(mail.key, -REPEAT_SECONDS) >= REPEAT_SECONDS
        ]
        if not due or not self._connection.connected:
            return
        client = await self._connection.client()
        for start in range(0, len(due), PER_MESSAGE):
            part = due[start : start + PER_MESSAGE]
            report = MailReport(self._node, tuple(part))
            await client.publish(subjects.captured_mail(self._node), encode(report))
            self._reported |= {mail.key: now for mail in part}
