"""Listens for the gateway, and ends the sessions of those who are not admitted any more."""

import asyncio
import os
import socket
import struct
from collections import Counter
from contextlib import suppress
from pathlib import Path

import structlog

from stead.node.access.table import AccessTable, Admission
from stead.node.ssh.message_socket import MessageSocket, new_socket
from stead.node.ssh.site_programs import SitePrograms
from stead.node.ssh.visitor import NOT_ADMITTED, Report, Visitor
from stead.shared.token_bucket import TokenBuckets

DIRECTORY, SOCKET = "ssh", "agent.sock"
CONNECTIONS_PER_ENVIRONMENT = 16
ENTRIES_PER_SECOND, ENTRIES_AT_ONCE = 1.0, 30
"""Of one environment. Each is recorded in its audit trail."""
MAX_VISITORS = 1024
CHECK_SECONDS = 5.0
_BACKLOG = 128

log = structlog.get_logger()


class SshSessions:
    """`directory` contains the socket of the agent. `uid` is the user of the gateway. `report` is called for
    everybody who enters. `entries` limits how often each environment is entered."""

    def __init__(
        self,
        access: AccessTable,
        programs: SitePrograms,
        directory: Path,
        uid: int,
        report: Report,
        entries: TokenBuckets | None = None,
    ) -> None:
        self._report = report
        self._access, self._programs = access, programs
        self._directory, self._uid = directory, uid
        self._entries = entries or TokenBuckets(ENTRIES_PER_SECOND, ENTRIES_AT_ONCE)
        self._visitors: dict[Visitor, asyncio.Task[None]] = {}
        self._leaving: dict[Visitor, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        access.add_listener(lambda _: self._changed.set())

    async def run(self) -> None:
        """Until cancelled. Then no session is left."""
        listening = self._listen()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch_admissions())
                tasks.create_task(self._accept(listening))
        finally:
            listening.close()
            await self._end(list(self._visitors), "the server is being restarted")

    async def end(self, environment: str, reason: str) -> None:
        """Returns when nobody is in the environment."""
        await self._end([each for each in self._visitors if _is_in(each, environment)], reason)

    async def _end(self, visitors: list[Visitor], reason: str) -> None:
        tasks = [self._visitors[each] for each in visitors]
        await asyncio.gather(*(each.expel(reason) for each in visitors))
        if tasks:
            await asyncio.wait(tasks)

    async def _watch_admissions(self) -> None:
        """After each change, and every few seconds: what expires is not a change."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            for visitor in self._visitors:
                if visitor not in self._leaving and not visitor.is_admitted():
                    self._expel(visitor)

    def _expel(self, visitor: Visitor) -> None:
        """In a task of its own: a process that does not end must not delay the next revocation."""
        task = asyncio.create_task(self._end([visitor], NOT_ADMITTED))
        self._leaving[visitor] = task
        task.add_done_callback(lambda _: self._leaving.pop(visitor))

    def _listen(self) -> socket.socket:
        self._directory.mkdir(mode=0o711, exist_ok=True)
        self._directory.chmod(0o711)
        path = self._directory / SOCKET
        path.unlink(missing_ok=True)
        listening = new_socket()
        listening.bind(str(path))
        path.chmod(0o600)
        os.chown(path, self._uid, -1)
        listening.listen(_BACKLOG)
        return listening

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connected, _ = await loop.sock_accept(listening)
            if _user_of(connected) not in (0, self._uid) or len(self._visitors) >= MAX_VISITORS:
                connected.close()
                continue
            visitor = Visitor(
                MessageSocket(connected), self._access, self._programs, self._may_enter, self._report
            )
            task = asyncio.create_task(visitor.serve())
            self._visitors[visitor] = task
            task.add_done_callback(lambda _, left=visitor: self._visitors.pop(left))  # type: ignore[misc]

    def _may_enter(self, admission: Admission) -> str:
        present = Counter(each.admission.environment for each in self._visitors if each.admission)
        if present[admission.environment] >= CONNECTIONS_PER_ENVIRONMENT:
            return "the environment has too many connections; end one of them first"
        if not self._entries.take(admission.environment):
            return "the environment has too many new connections; try again in a minute"
        return ""


def _is_in(visitor: Visitor, environment: str) -> bool:
    return visitor.admission is not None and visitor.admission.environment == environment


def _user_of(connected: socket.socket) -> int:
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return int(user)
