import socket
from typing import Any, cast

import msgspec
import pytest

from stead.node.ssh.gateway import program_session
from stead.node.ssh.gateway.agent_link import AgentLink
from stead.node.ssh.gateway.program_session import ProgramSession
from stead.node.ssh.message_socket import MessageSocket, close_all
from stead.node.ssh.messages import FromGateway, Start, Stop
from tests.patience import time_limit


class QuietServer:
    def add_brake(self, brake: object) -> None: ...

    def remove_channel(self, brake: object) -> None: ...


class RecordingChannel:
    def __init__(self) -> None:
        self.said = b""
        self.code = -1

    def write(self, data: bytes, datatype: int | None = None) -> None:  # noqa: ARG002
        self.said += data

    def exit(self, code: int) -> None:
        self.code = code


async def test_a_program_that_does_not_start_in_time_is_stopped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program_session, "START_SECONDS", 0.1)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    agent, link = MessageSocket(theirs), AgentLink(MessageSocket(ours), lambda _: None)
    channel = RecordingChannel()
    session = ProgramSession(cast("Any", QuietServer()), link)
    try:
        session.connection_made(cast("Any", channel))
        session.session_started()
        received = []
        async with time_limit(10):
            for _ in range(2):
                data, descriptors = await agent.receive()
                close_all(descriptors)
                received.append(msgspec.msgpack.decode(data, type=FromGateway))
        # The agent starts it late, or never: nobody waits for it any more.
        assert [type(each) for each in received] == [Start, Stop]
        assert (b"not available" in channel.said, channel.code) == (True, 1)
    finally:
        session.connection_lost(None)
        link.close()
        agent.close()
