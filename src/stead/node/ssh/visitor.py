"""One connection of an SSH client, as the agent sees it: who it is, and which programs it has started."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex

import msgspec
import structlog

from stead.node.access.table import AccessTable, Admission
from stead.node.containers.runc import Container
from stead.node.ssh.message_socket import MessageInvalid, MessageSocket, close_all
from stead.node.ssh.messages import (
    MAX_COMMAND,
    Answer,
    Ask,
    Credential,
    Ended,
    Enter,
    Entered,
    Expelled,
    FromAgent,
    FromGateway,
    NotStarted,
    Refused,
    Signal,
    Start,
    Started,
    Stop,
)
from stead.node.ssh.permissions import SessionRefused, permit
from stead.node.ssh.signals import PacedSignals
from stead.node.ssh.site_programs import SitePrograms

CHANNELS = 10
FAREWELL_SECONDS = 2.0
NOT_ADMITTED = "your key is not admitted to this environment any more"

log = structlog.get_logger()

_decoder = msgspec.msgpack.Decoder(FromGateway)

Report = Callable[[str, Admission, Enter], None]


@dataclass(eq=False)
class _Running:
    start: Start
    task: asyncio.Task[None]
    container: Container | None = None
    signals: PacedSignals | None = None
    reason: str = ""
    """Why the platform ends it."""


@dataclass(eq=False)
class Visitor:
    link: MessageSocket
    access: AccessTable
    programs: SitePrograms
    may_enter: Callable[[Admission], str]
    """Returns why not; empty if nothing is against it."""
    report: Report
    """Tells the control plane who has entered."""

    session: str = field(default_factory=lambda: token_hex(8))
    admission: Admission | None = None
    _entered: Enter | None = None
    _channels: dict[int, _Running] = field(default_factory=dict)
    _expelled: str = ""

    async def serve(self) -> None:
        """Until the gateway or the agent ends the connection. Then no program of it runs."""
        try:
            while not self._expelled:
                data, descriptors = await self.link.receive()
                if not data:
                    return
                await self._handle(_decoder.decode(data), descriptors)
        except OSError:
            return  # the client is gone, and the gateway with it
        except (msgspec.MsgspecError, MessageInvalid) as error:
            log.warning("ssh.link_broken", session=self.session, error=type(error).__name__)
        finally:
            tasks = [running.task for running in self._channels.values()]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            self.link.close()
            if self._entered is not None:
                self._log("ssh.left", reason=self._expelled)

    def is_admitted(self) -> bool:
        """Whether whoever entered may still be here."""
        return self.admission is None or self.access.still_holds(self.admission)

    async def expel(self, reason: str) -> None:
        """Returns when no program of the visitor runs. Does not wait for the gateway."""
        self._expelled = reason
        tasks = [running.task for running in self._channels.values()]
        for running in self._channels.values():
            running.reason = reason
            running.task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._send(Expelled(reason))
        self.link.close()

    async def _handle(self, message: FromGateway, descriptors: list[int]) -> None:
        if isinstance(message, Start):
            await self._start(message, descriptors)
            return
        close_all(descriptors)
        if isinstance(message, Ask):
            await self._send(Answer(self._authorize(message.credential) is not None))
        elif isinstance(message, Enter):
            await self._enter(message)
        elif (running := self._channels.get(message.channel)) is None:
            return
        elif isinstance(message, Stop):
            running.task.cancel()
        elif isinstance(message, Signal) and running.signals is not None:
            running.signals.add(message.name)

    def _authorize(self, credential: Credential) -> Admission | None:
        if credential.key:
            return self.access.authorize(credential.user, credential.key)
        return self.access.authorize_password(credential.user, credential.password)

    async def _enter(self, message: Enter) -> None:
        admission = self._authorize(message.credential)
        if self._entered is not None or admission is None:
            await self._send(Refused(NOT_ADMITTED))
        elif reason := self.may_enter(admission):
            await self._send(Refused(reason))
        else:
            self.admission, self._entered = admission, message
            self._log("ssh.entered", client=message.client[:80])
            self.report(self.session, admission, message)
            await self._send(Entered(self.session))

    async def _start(self, message: Start, descriptors: list[int]) -> None:
        try:
            permitted = self._permit(message, descriptors)
        except SessionRefused as refused:
            close_all(descriptors)
            await self._send(NotStarted(message.channel, str(refused)))
            return
        task = asyncio.create_task(self._run(permitted, descriptors))
        self._channels[message.channel] = _Running(permitted, task)

    def _permit(self, message: Start, descriptors: Sequence[int]) -> Start:
        # Once more, not only when the connection began.
        if self.admission is None or not self.is_admitted():
            raise SessionRefused(NOT_ADMITTED)
        if message.channel in self._channels or len(self._channels) >= CHANNELS:
            raise SessionRefused("the connection has too many channels")
        if len(message.command) > MAX_COMMAND:
            raise SessionRefused("the command is too long")
        if len(descriptors) != (0 if message.kind == "database" else 1 if message.terminal else 3):
            raise MessageInvalid("a program has three streams or a terminal")
        return permit(self.admission, message)

    async def _run(self, message: Start, descriptors: list[int]) -> None:
        code, reason = -1, ""
        try:
            if message.kind == "database":
                await self._open_database(message)
                return
            code, reason = await self._run_program(message, descriptors)
        except SessionRefused as refused:
            reason = str(refused)
        except asyncio.CancelledError:
            reason = self._channels[message.channel].reason
        except Exception as error:  # noqa: BLE001 - the client must learn that its program does not run
            log.error("ssh.program_failed", session=self.session, error=type(error).__name__)
            reason = "the session failed"
        finally:
            close_all(descriptors)
            running = self._channels.pop(message.channel)
            if running.signals is not None:
                running.signals.close()
        started = running.container is not None
        if started:
            self._log(
                "ssh.program_ended", kind=message.kind, channel=message.channel, code=code, reason=reason
            )
        with suppress(OSError, TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._send(
                    Ended(message.channel, code, reason) if started else NotStarted(message.channel, reason)
                )

    async def _run_program(self, message: Start, descriptors: list[int]) -> tuple[int, str]:
        assert self.admission is not None  # noqa: S101
        running = self._channels[message.channel]

        async def on_start(container: Container) -> None:
            running.container = container
            running.signals = PacedSignals(partial(self.programs.send_signal, container))
            self._log("ssh.program_started", kind=message.kind, channel=message.channel)
            await self._send(Started(message.channel))

        async def end() -> None:
            running.reason = "the server needs the memory for others"
            running.task.cancel()
            await asyncio.wait({running.task})

        plan = await self.programs.plan(self.admission.environment)
        outcome = await self.programs.run(plan, message, descriptors, on_start=on_start, end=end)
        return outcome.code, outcome.reason

    async def _open_database(self, message: Start) -> None:
        """The gateway connects itself: with the user of the agent, the client could sign in as the
        administrator of the database."""
        assert self.admission is not None  # noqa: S101
        plan = await self.programs.plan(self.admission.environment)
        with self.programs.tunnel(self.admission.environment):
            self._log("ssh.database_opened", channel=message.channel)
            place = plan.socket_inside
            directory = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
            try:
                await self._send(Started(message.channel, place.name), [directory])
            finally:
                os.close(directory)
            # Until the gateway says that it is closed, or is gone.
            await asyncio.get_running_loop().create_future()

    async def _send(self, message: FromAgent, descriptors: Sequence[int] = ()) -> None:
        await self.link.send(msgspec.msgpack.encode(message), descriptors)

    def _log(self, event: str, **fields: object) -> None:
        """Not what is run, which may contain secrets."""
        assert self.admission is not None and self._entered is not None  # noqa: S101, PT018
        log.info(
            event,
            session=self.session,
            environment=self.admission.environment,
            account=self.admission.account,
            credential=self.admission.credential,
            address=self._entered.address,
            **fields,
        )
