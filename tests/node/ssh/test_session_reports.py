"""Reports about sessions wait in NATS until one of the workers takes them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest
from nats.js.errors import NotFoundError

from stead.control.engines.nats import Message, Nats
from stead.control.engines.nats_queue import take_messages
from stead.dev.engines.nats import Nats as NatsServer
from stead.node.access.table import Admission
from stead.node.nats_connection import NatsConnection
from stead.node.ssh.messages import Credential, Enter
from stead.node.ssh.session_reports import SessionReports
from stead.protocol.commands import SessionReport, encode, read_session
from stead.protocol.streams import sessions_consumer
from stead.protocol.subjects import Program
from tests.node.harness import NodeHarness, until

ADMISSION = Admission("env_1", "site_1", "acct_1", "key_1", "SHA256:x", may_run_commands=True)
CLIENT = "SSH-2.0-OpenSSH_9.2"
REPORT = SessionReport("node-1", "s1", "env_1", "acct_1", "key_1", "192.0.2.7", CLIENT)


def entered(client: str = CLIENT) -> Enter:
    return Enter(Credential("shop", key=b"x"), "192.0.2.7", client)


async def send(here: NodeHarness, sessions: Sequence[str], client: str = CLIENT) -> None:
    jetstream, consumer = here.operator.jetstream(), sessions_consumer()
    before = (await jetstream.stream_info(consumer.stream)).state.messages
    connection = NatsConnection(here.as_settings())
    reports = SessionReports(here.node.id, connection)
    async with connection.keep_open():
        sending = asyncio.create_task(reports.run())
        for session in sessions:
            reports.add(session, ADMISSION, entered(client))

        async def sent() -> bool | None:
            info = await jetstream.stream_info(consumer.stream)
            return info.state.messages >= before + len(sessions) or None

        await until(sent)
        sending.cancel()
        await asyncio.wait({sending})


@asynccontextmanager
async def two_workers(
    here: NodeHarness, handle: Callable[[Message], Awaitable[None]]
) -> AsyncIterator[list[BaseException]]:
    """Yields what `take_messages` has raised."""
    login = here.stack[NatsServer].login(Program.WORKER)
    worker = Nats(login.url, user=login.user, password=login.password, program=Program.WORKER)
    worker.start()
    raised: list[BaseException] = []

    async def keep_taking() -> None:
        while True:
            try:
                await take_messages(worker, sessions_consumer(), handle)
            except Exception as error:  # noqa: BLE001
                raised.append(error)

    workers = [asyncio.create_task(keep_taking()) for _ in range(2)]
    try:
        yield raised
    finally:
        for task in workers:
            task.cancel()
        await asyncio.wait(workers)
        await worker.stop()


async def test_a_report_waits_until_one_worker_has_handled_it(here: NodeHarness):
    before = int(time.time() * 1000)
    await send(here, ["a1", "a2"])
    seen: list[SessionReport] = []
    failures = [ConnectionError("the database is down")]

    async def handle(message: Message) -> None:
        if failures:
            raise failures.pop()
        seen.append(read_session(message.data))

    async with two_workers(here, handle) as raised:

        async def all_seen() -> bool | None:
            return {each.session for each in seen} == {"a1", "a2"} or None

        await until(all_seen)
    assert len(seen) == 2
    assert [type(each) for each in raised] == [ConnectionError]
    expected = SessionReport(here.node.id, "a1", "env_1", "acct_1", "key_1", "192.0.2.7", CLIENT)
    assert expected in [msgspec.structs.replace(each, entered_at=0) for each in seen]
    assert all(before <= each.entered_at <= time.time() * 1000 for each in seen)


async def test_a_message_that_cannot_be_handled_does_not_keep_others_waiting(here: NodeHarness):
    await send(here, ["b1", "b2", "b3"], client="SSH-2.0-a\0b\u202e\xe9" + "x" * 200)
    tried: list[str] = []
    seen: list[SessionReport] = []

    async def handle(message: Message) -> None:
        report = read_session(message.data)
        tried.append(report.session)
        if report.session == "b1":
            raise ValueError("always")
        seen.append(report)

    async with two_workers(here, handle) as raised:

        async def nothing_waits() -> bool | None:
            consumer = sessions_consumer()
            try:
                info = await here.operator.jetstream().consumer_info(consumer.stream, consumer.durable)
            except NotFoundError:  # no worker has created it yet
                return None
            return (not info.num_pending and not info.num_ack_pending) or None

        await until(nothing_waits)
    assert sorted(tried) == ["b1", "b2", "b3"]
    assert raised == []
    assert {each.client for each in seen} == {("SSH-2.0-a?b??" + "x" * 200)[:100]}


@pytest.mark.parametrize("field", SessionReport.__struct_fields__[:-1])
@pytest.mark.parametrize("content", ["a\0b", "\u202e", "a\n", "x" * 101])
def test_a_report_with_other_characters_is_malformed(field: str, content: str):
    assert read_session(encode(REPORT)) == REPORT
    with pytest.raises(msgspec.ValidationError):
        read_session(encode(msgspec.structs.replace(REPORT, **{field: content})))
