"""Who may say and hear what on NATS, asked of the server itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
import nats.errors
import nats.js.errors
import pytest

from stead.control.engines.nats_streams import consumer_config, stream_config
from stead.dev.engines.nats import Nats, role_of
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol import subjects
from stead.protocol.edge import bucket_subject
from stead.protocol.streams import commands_consumer, edge_consumer, streams
from stead.protocol.subjects import APPLIED, COMMANDS, EDGE_BUCKET, OUTPUT, Node, Program

HERE, THERE = Node("here"), Node("there")
REGIONS = {HERE: "east", THERE: "west"}
EDGE = subjects.bucket_stream(EDGE_BUCKET)
BOUND = 3.0


@dataclass
class Client:
    connection: nats.NATS
    refusals: list[str]
    told: asyncio.Condition

    async def refused(self, subject: str) -> bool:
        """Whether publishing there is a permissions violation."""
        await self.connection.publish(subject, b"{}")
        return await self._violation(subject)

    async def deaf(self, subject: str) -> bool:
        """Whether subscribing there is a permissions violation."""
        await self.connection.subscribe(subject)
        return await self._violation(subject)

    async def _violation(self, subject: str) -> bool:
        def seen() -> bool:
            return any(f'"{subject.lower()}"' in refusal for refusal in self.refusals)

        try:
            async with asyncio.timeout(BOUND), self.told:
                return await self.told.wait_for(seen)
        except TimeoutError:
            return False


@asynccontextmanager
async def client(stack: RunningStack, role: subjects.Role) -> AsyncIterator[Client]:
    refusals: list[str] = []
    told = asyncio.Condition()

    async def refused(error: Exception) -> None:
        async with told:
            refusals.append(str(error).lower())
            told.notify_all()

    login = stack[Nats].login(role)
    connection = await nats.connect(
        login.url,
        user=login.user,
        password=login.password,
        inbox_prefix=login.inbox_prefix.encode(),
        error_cb=refused,
        max_reconnect_attempts=0,
    )
    try:
        yield Client(connection, refusals, told)
    finally:
        await connection.close()


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    """NATS with its streams, buckets and the nodes' consumers, all made by the worker in its own right."""
    async with run_stack(shared_scratch, [Nats]) as stack:
        for node in (HERE, THERE):
            await stack.add_node(node.id)
        async with client(stack, Program.WORKER) as worker:
            jetstream = worker.connection.jetstream()
            for wanted in streams():
                await jetstream.add_stream(stream_config(wanted))
            for node, region in REGIONS.items():
                for made in (commands_consumer(node), edge_consumer(node, region)):
                    await jetstream.add_consumer(made.stream, consumer_config(made))
            assert worker.refusals == []
        yield stack


async def test_a_node_reads_and_acknowledges_its_own_commands(stack: RunningStack) -> None:
    async with client(stack, Program.WORKER) as worker, client(stack, HERE) as node:
        await worker.connection.jetstream().publish(subjects.command(HERE.id, "ensure"), b"for here")
        await worker.connection.jetstream().publish(subjects.command(THERE.id, "ensure"), b"for there")
        pulled = await node.connection.jetstream().pull_subscribe_bind(subjects.consumer(HERE), COMMANDS)
        (message,) = await pulled.fetch(1, timeout=5)
        assert message.data == b"for here"
        await message.ack_sync(timeout=5)
        with pytest.raises(nats.errors.TimeoutError):
            await pulled.fetch(1, timeout=0.5)
        assert node.refusals == []


async def test_a_node_is_refused_another_nodes_commands_by_every_way_to_them(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        assert await node.deaf(subjects.commands_of(THERE.id))
        assert await node.deaf("node.>")
        assert await node.deaf(">")
        for verb in ("MSG.NEXT", "INFO", "DELETE", "RESET"):
            assert await node.refused(f"$JS.API.CONSUMER.{verb}.{COMMANDS}.{THERE.id}"), verb
        for way in (f"CONSUMER.CREATE.{COMMANDS}", f"CONSUMER.CREATE.{COMMANDS}.here.node.there.cmd.>"):
            assert await node.refused(f"$JS.API.{way}")
        assert await node.refused(f"$JS.API.CONSUMER.DURABLE.CREATE.{COMMANDS}.mine")
        assert await node.refused(f"$JS.API.STREAM.MSG.GET.{COMMANDS}")
        assert await node.refused(f"$JS.API.DIRECT.GET.{COMMANDS}")
        assert await node.refused(f"$JS.ACK.{COMMANDS}.{THERE.id}.1.1.1.1.0")


async def test_a_node_cannot_speak_as_another_node_or_as_the_control_plane(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        for subject in (
            subjects.report(THERE.id, "result"),
            subjects.heartbeat(THERE.id),
            subjects.activity(THERE.id),
            subjects.job_output("job1", THERE),
            subjects.job_output("job1", Program.WORKER),
            subjects.command(HERE.id, "ensure"),
            subjects.command(THERE.id, "ensure"),
            subjects.applied(THERE.id),
            bucket_subject("east.host.example"),
            bucket_subject("west.host.example"),
        ):
            assert await node.refused(subject), subject


async def test_a_node_is_refused_the_operators_subjects(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        assert await node.deaf("$SYS.>")
        assert await node.deaf("$JS.EVENT.ADVISORY.>")
        for subject in (
            "$SYS.REQ.SERVER.PING",
            "$JS.API.INFO",
            "$JS.API.STREAM.LIST",
            "$JS.API.STREAM.CREATE.MINE",
            f"$JS.API.STREAM.DELETE.{COMMANDS}",
            f"$JS.API.STREAM.PURGE.{EDGE}",
        ):
            assert await node.refused(subject), subject


async def test_a_node_cannot_listen_to_what_another_is_answered(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        for other in (THERE, *Program):
            assert await node.deaf(f"{subjects.inbox_prefix(other)}.>")
        assert await node.deaf("_INBOX.>")


async def test_a_node_reports_and_writes_output_under_its_own_name(stack: RunningStack) -> None:
    async with client(stack, HERE) as node, client(stack, Program.API) as api:
        jetstream = node.connection.jetstream()
        await jetstream.publish(subjects.report(HERE.id, "result"), b"done")
        await jetstream.publish(subjects.job_output("job2", HERE), b"line 1")
        await jetstream.publish(subjects.job_output("job2", HERE), b"line 2")
        await node.connection.publish(subjects.heartbeat(HERE.id), b"")

        following = await api.connection.jetstream().subscribe(
            subjects.output_of("job2"), stream=OUTPUT, ordered_consumer=True
        )
        assert [(await following.next_msg(timeout=5)).data for _ in range(2)] == [b"line 1", b"line 2"]
        await following.unsubscribe()
        assert node.refusals == []
        assert api.refusals == []


async def test_the_worker_hears_heartbeats_but_cannot_forge_them(stack: RunningStack) -> None:
    async with client(stack, HERE) as node, client(stack, Program.WORKER) as worker:
        for said, by in (("heartbeat", subjects.heartbeat), ("activity", subjects.activity)):
            heard = await worker.connection.subscribe(f"node.*.{said}")
            await worker.connection.flush()
            await node.connection.publish(by(HERE.id), b"")
            assert (await heard.next_msg(timeout=5)).subject == by(HERE.id)
            assert await worker.refused(by(HERE.id))
        assert await worker.refused(subjects.report(HERE.id, "result"))
        assert await worker.refused(f"$JS.API.STREAM.DELETE.{COMMANDS}")


async def test_a_node_follows_its_regions_records_and_can_read_them_again_after_a_loss(
    stack: RunningStack,
) -> None:
    async with client(stack, Program.WORKER) as worker, client(stack, HERE) as node:
        for key in ("east.host.example", "west.host.example"):
            await worker.connection.jetstream().publish(bucket_subject(key), key.encode())
        feed = await node.connection.jetstream().pull_subscribe_bind(subjects.consumer(HERE), EDGE)
        for _ in range(2):
            (change,) = await feed.fetch(1, timeout=5)
            assert change.data == b"east.host.example"
            with pytest.raises(nats.errors.TimeoutError):
                await feed.fetch(1, timeout=0.5)
            await node.connection.request(f"$JS.API.CONSUMER.RESET.{EDGE}.{HERE.id}", b'{"seq":1}', timeout=5)
        assert node.refusals == []


async def test_a_node_is_refused_another_regions_records_by_every_way_to_them(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        west = bucket_subject("west.host.example")
        assert await node.deaf(bucket_subject(">"))
        assert await node.deaf(west)
        for verb in ("MSG.NEXT", "INFO", "DELETE", "RESET"):
            assert await node.refused(f"$JS.API.CONSUMER.{verb}.{EDGE}.{THERE.id}"), verb
        for way in (
            f"DIRECT.GET.{EDGE}",
            f"DIRECT.GET.{EDGE}.{west}",
            f"DIRECT.GET.{EDGE}.{bucket_subject('east.host.example')}",
            f"STREAM.MSG.GET.{EDGE}",
            f"STREAM.INFO.{EDGE}",
            f"CONSUMER.CREATE.{EDGE}",
            f"CONSUMER.CREATE.{EDGE}.here.{west}",
            f"CONSUMER.DURABLE.CREATE.{EDGE}.{HERE.id}",
            f"CONSUMER.DURABLE.CREATE.{EDGE}.mine",
            f"CONSUMER.LIST.{EDGE}",
        ):
            assert await node.refused(f"$JS.API.{way}"), way


async def test_a_node_says_how_far_its_own_edge_is_and_the_worker_reads_the_last_word(
    stack: RunningStack,
) -> None:
    async with client(stack, HERE) as node, client(stack, Program.WORKER) as worker:
        heard = await worker.connection.subscribe(subjects.applied(HERE.id))
        await worker.connection.flush()
        for word in (b"1", b"2"):
            await node.connection.jetstream().publish(subjects.applied(HERE.id), word)
            assert (await heard.next_msg(timeout=5)).data == word
        last = await worker.connection.jetstream().get_last_msg(
            APPLIED, subjects.applied(HERE.id), direct=True
        )
        assert last.data == b"2"
        assert await worker.refused(subjects.applied(HERE.id))
        assert node.refusals == []


async def test_the_api_reads_output_and_nothing_else(stack: RunningStack) -> None:
    async with client(stack, Program.API) as api:
        for subject in (
            subjects.command(HERE.id, "ensure"),
            subjects.job_output("job1", HERE),
            bucket_subject("east.host.example"),
            subjects.applied(HERE.id),
            f"$JS.API.CONSUMER.CREATE.{COMMANDS}",
            f"$JS.API.STREAM.DELETE.{OUTPUT}",
        ):
            assert await api.refused(subject), subject
        assert await api.deaf(">")


async def test_a_wrong_password_and_no_password_are_refused(stack: RunningStack) -> None:
    for login in ({"user": "api", "password": "wrong"}, {}):
        with pytest.raises((nats.errors.Error, nats.errors.NoServersError)):
            await nats.connect(stack[Nats].url, allow_reconnect=False, max_reconnect_attempts=0, **login)


async def test_a_node_added_while_others_work_does_not_disturb_them(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        await stack.add_node("newcomer")
        async with client(stack, Node("newcomer")) as newcomer:
            await newcomer.connection.flush()
        await node.connection.jetstream().publish(subjects.report(HERE.id, "result"), b"still here")
        assert node.refusals == []


@pytest.mark.parametrize("text", ["", "*", ">", "a.b", "a b", "a*", "here.cmd.>", "a\r\nPUB", "é"])
def test_an_identifier_that_would_reach_into_anothers_subjects_is_refused(text: str) -> None:
    for make in (subjects.commands_of, subjects.heartbeat, subjects.output_of, subjects.bucket_keys):
        with pytest.raises(ValueError, match="cannot be part of a subject"):
            make(text)
    with pytest.raises(ValueError, match="cannot be part of a subject"):
        subjects.permissions(Node(text))


def test_every_program_is_told_its_own_user(stack: RunningStack) -> None:
    told = [stack.environment(program) for program in Program]
    assert [settings["STEAD_NATS_USER"] for settings in told] == [user.value for user in Program]
    assert len({settings["STEAD_NATS_PASSWORD"] for settings in told}) == len(Program)


def test_only_the_operator_may_do_everything() -> None:
    for role in (*Program, Node("worker")):
        granted = subjects.permissions(role)
        everything = ">" in granted.publish or ">" in granted.subscribe
        assert everything == (role is Program.OPERATOR)


def test_a_node_named_like_a_program_is_still_a_node() -> None:
    assert subjects.user(Node("worker")) != subjects.user(Program.WORKER)
    assert [role_of(subjects.user(role)) for role in (Node("worker"), *Program)] == [Node("worker"), *Program]
