"""The gateway's connection to the agent, one for each connection of a client."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from stead.node.ssh.message_socket import MessageInvalid, MessageSocket, close_all, new_socket
from stead.node.ssh.messages import (
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
    Started,
)
from stead.node.ssh.sessions import SOCKET

CONNECT_SECONDS = 5.0
REPLY_SECONDS = 10.0

_decoder = msgspec.msgpack.Decoder(FromAgent)

T = TypeVar("T")
Event = Started | NotStarted | Ended
OnEvent = Callable[[Event, list[int]], None]
"""Called with what the agent says about a channel. The descriptors belong to the function."""


class AgentUnavailable(Exception):
    """The agent does not run, or does not answer."""


class AgentLink:
    def __init__(self, messages: MessageSocket, on_lost: Callable[[str], None]) -> None:
        """`on_lost` is called once, with a reason for the person, when the agent ends the connection."""
        self._messages, self._on_lost = messages, on_lost
        self._numbers = itertools.count()
        self._channels: dict[int, OnEvent] = {}
        self._reply: asyncio.Future[Answer | Entered | Refused] | None = None
        self._asking = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._spawn(self._receive())

    @classmethod
    async def connect(cls, directory: int, on_lost: Callable[[str], None]) -> "AgentLink":
        """`directory` is a descriptor of the directory of the socket, which the gateway may not find by its
        path."""
        made = new_socket()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.get_running_loop().sock_connect(made, f"/proc/self/fd/{directory}/{SOCKET}")
        except (OSError, TimeoutError):
            made.close()
            raise AgentUnavailable from None
        return cls(MessageSocket(made), on_lost)

    async def ask(self, credential: Credential) -> bool:
        return await self._exchange(Ask(credential)) == Answer(admitted=True)

    async def enter(self, message: Enter) -> Entered | Refused:
        reply = await self._exchange(message)
        return reply if isinstance(reply, Entered | Refused) else Refused("the server failed")

    def new_channel(self, on_event: OnEvent) -> int:
        number = next(self._numbers)
        self._channels[number] = on_event
        return number

    def forget_channel(self, number: int) -> None:
        self._channels.pop(number, None)

    async def send(self, message: FromGateway, descriptors: Sequence[int] = ()) -> None:
        try:
            await self._messages.send(msgspec.msgpack.encode(message), descriptors)
        except OSError:
            raise AgentUnavailable from None

    async def try_to_send(self, message: FromGateway) -> None:
        """If the agent is gone, nothing has to be said to it any more."""
        try:
            await self.send(message)
        except AgentUnavailable:
            return

    def send_soon(self, message: FromGateway) -> None:
        self._spawn(self.try_to_send(message))

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._messages.close()

    async def _exchange(self, message: Ask | Enter) -> Answer | Entered | Refused:
        # Not cancelled with the caller: its answer would be taken for that of the next question.
        return await asyncio.shield(self._spawn(self._exchange_alone(message)))

    async def _exchange_alone(self, message: Ask | Enter) -> Answer | Entered | Refused:
        async with self._asking:
            self._reply = asyncio.get_running_loop().create_future()
            await self.send(message)
            try:
                async with asyncio.timeout(REPLY_SECONDS):
                    return await self._reply
            except TimeoutError:
                # An answer that comes later must not be taken for another one.
                self._messages.close()
                raise AgentUnavailable from None

    async def _receive(self) -> None:
        reason = "the server is being restarted"
        try:
            while True:
                data, descriptors = await self._messages.receive()
                if not data:
                    break
                message = _decoder.decode(data)
                if isinstance(message, Expelled):
                    reason = message.reason
                    break
                self._dispatch(message, descriptors)
        except (msgspec.MsgspecError, MessageInvalid, OSError):
            reason = "the server failed"
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(AgentUnavailable())
        self._on_lost(reason)

    def _dispatch(self, message: FromAgent, descriptors: list[int]) -> None:
        if isinstance(message, Started | NotStarted | Ended):
            if on_event := self._channels.get(message.channel):
                on_event(message, descriptors)
                return
        elif isinstance(message, Answer | Entered | Refused) and self._reply and not self._reply.done():
            self._reply.set_result(message)
        close_all(descriptors)

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
