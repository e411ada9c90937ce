"""Tells the control plane who has entered an environment, for its audit trail."""

import asyncio
import re
import time

import nats.errors
import structlog
from nats.js.api import Header

from stead.node.access.table import Admission
from stead.node.nats_connection import NatsConnection
from stead.node.ssh.messages import Enter
from stead.protocol.commands import SessionReport, encode
from stead.protocol.subjects import session_report

MAX_WAITING = 10_000
"""While NATS cannot be reached. What is more is only in the log of the node."""
ACK_SECONDS = 5.0
RETRY_SECONDS = 2.0
PAUSE_SECONDS = 0.1
"""After each report. The control plane ignores those of a node that sends many more."""
MAX_ADDRESS, MAX_CLIENT = 64, 100
_NOT_IN_ADDRESSES, _NOT_PRINTABLE = re.compile(r"[^0-9A-Za-z:.%_-]"), re.compile(r"[^ -~]")

log = structlog.get_logger()


class SessionReports:
    def __init__(self, node: str, connection: NatsConnection) -> None:
        self._node, self._connection = node, connection
        self._waiting: asyncio.Queue[SessionReport] = asyncio.Queue(MAX_WAITING)

    def add(self, session: str, admission: Admission, entered: Enter) -> None:
        made = SessionReport(
            self._node,
            session,
            admission.environment,
            admission.account,
            admission.credential,
            _NOT_IN_ADDRESSES.sub("_", entered.address[:MAX_ADDRESS]),
            # Clients may send anything. The control plane accepts no report with other characters.
            _NOT_PRINTABLE.sub("?", entered.client[:MAX_CLIENT]),
            time.time_ns() // 1_000_000,
        )
        try:
            self._waiting.put_nowait(made)
        except asyncio.QueueFull:
            log.error("ssh.session_not_reported", session=session)

    async def run(self) -> None:
        """Send each report until the server has acknowledged it, until cancelled."""
        while True:
            report = await self._waiting.get()
            sent = False
            while not sent:
                sent = await self._send(report)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _send(self, report: SessionReport) -> bool:
        jetstream = await self._connection.jetstream()
        try:
            await jetstream.publish(
                session_report(report.node, report.session),
                encode(report),
                timeout=ACK_SECONDS,
                headers={Header.MSG_ID: f"session-{report.session}"},
            )
        except (nats.errors.Error, OSError) as error:
            log.warning("ssh.report_delayed", error=type(error).__name__)
            await asyncio.sleep(RETRY_SECONDS)
            return False
        return True
