"""The NATS permissions of programs and nodes, tested with a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nats.aio.client
import nats.errors
import nats.js.errors
import pytest
from nats.aio.subscription import Subscription

from stead.control.engines.nats_streams import consumer_config, stream_config
from stead.dev.engines.nats import Nats, role_of
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol import subjects
from stead.protocol.edge_records import bucket_subject
from stead.protocol.streams import commands_consumer, edge_consumer, stream_specs
from stead.protocol.subjects import APPLIED, COMMANDS, EDGE_BUCKET, OUTPUT, Node, Program
from tests.patience import time_limit

HERE, THERE = Node("here"), Node("there")
REGIONS = {HERE: "east", THERE: "west"}
EDGE = subjects.bucket_stream(EDGE_BUCKET)
BOUND = 30.0
"""Generous, because a loaded machine may be slow. Only what never comes takes this long."""


@dataclass
class Client:
    connection: nats.aio.client.Client
    refusals: list[str]
    changed: asyncio.Condition

    async def subscribe(self, subject: str) -> Subscription:
        """Returns when the server knows the subscription."""
        made = await self.connection.subscribe(subject)
        # The library sends the first ping before the subscription, and the second one after it.
        for _ in range(2):
            await self.connection.flush()
        return made

    async def publish_refused(self, subject: str) -> bool:
        """Publishes to the subject, and returns whether it is a permissions violation."""
        await self.connection.publish(subject, b"{}")
        return await self._violation(subject)

    async def subscribe_refused(self, subject: str) -> bool:
        """Subscribes to the subject, and returns whether it is a permissions violation."""
        await self.connection.subscribe(subject)
        return await self._violation(subject)

    async def _violation(self, subject: str) -> bool:
        def found() -> bool:
            return any(f'"{subject.lower()}"' in refusal for refusal in self.refusals)

        try:
            async with time_limit(BOUND), self.changed:
                return await self.changed.wait_for(found)
        except TimeoutError:
            return False


@asynccontextmanager
async def client(stack: RunningStack, role: subjects.NatsIdentity) -> AsyncIterator[Client]:
    refusals: list[str] = []
    changed = asyncio.Condition()

    async def refused(error: Exception) -> None:
        async with changed:
            refusals.append(str(error).lower())
            changed.notify_all()

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
        yield Client(connection, refusals, changed)
    finally:
        await connection.close()


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    """NATS with streams, buckets and the consumers of two nodes, all created as the worker."""
    async with run_stack(shared_scratch, [Nats]) as stack:
        for node in (HERE, THERE):
            await stack.add_node(node.id)
        async with client(stack, Program.WORKER) as worker:
            jetstream = worker.connection.jetstream()
            for wanted in stream_specs():
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
        (message,) = await pulled.fetch(1, timeout=BOUND)
        assert message.data == b"for here"
        await message.ack_sync(timeout=BOUND)
        with pytest.raises(nats.errors.TimeoutError):
            await pulled.fetch(1, timeout=0.5)
        assert node.refusals == []


async def test_a_node_cannot_read_commands_of_another_node_in_any_way(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        assert await node.subscribe_refused(subjects.commands_of(THERE.id))
        assert await node.subscribe_refused("node.>")
        assert await node.subscribe_refused(">")
        for verb in ("MSG.NEXT", "INFO", "DELETE", "RESET"):
            assert await node.publish_refused(f"$JS.API.CONSUMER.{verb}.{COMMANDS}.{THERE.id}"), verb
        for way in (f"CONSUMER.CREATE.{COMMANDS}", f"CONSUMER.CREATE.{COMMANDS}.here.node.there.cmd.>"):
            assert await node.publish_refused(f"$JS.API.{way}")
        assert await node.publish_refused(f"$JS.API.CONSUMER.DURABLE.CREATE.{COMMANDS}.mine")
        assert await node.publish_refused(f"$JS.API.STREAM.MSG.GET.{COMMANDS}")
        assert await node.publish_refused(f"$JS.API.DIRECT.GET.{COMMANDS}")
        assert await node.publish_refused(f"$JS.ACK.{COMMANDS}.{THERE.id}.1.1.1.1.0")


async def test_a_node_cannot_publish_as_another_node_or_as_the_control_plane(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        for subject in (
            subjects.report(THERE.id, "result"),
            subjects.heartbeat(THERE.id),
            subjects.activity(THERE.id),
            subjects.sign_in(THERE.id),
            subjects.platform_of_node(THERE.id),
            subjects.platform(Program.API),
            subjects.answer(HERE.id, "question"),
            subjects.answer(THERE.id, "question"),
            subjects.job_output("job1", THERE),
            subjects.job_output("job1", Program.WORKER),
            subjects.command(HERE.id, "ensure"),
            subjects.command(THERE.id, "ensure"),
            subjects.applied(THERE.id),
            bucket_subject("east.host.example"),
            bucket_subject("west.host.example"),
        ):
            assert await node.publish_refused(subject), subject


async def test_a_node_cannot_use_the_subjects_of_the_operator(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        assert await node.subscribe_refused("$SYS.>")
        assert await node.subscribe_refused("$JS.EVENT.ADVISORY.>")
        for subject in (
            "$SYS.REQ.SERVER.PING",
            "$JS.API.INFO",
            "$JS.API.STREAM.LIST",
            "$JS.API.STREAM.CREATE.MINE",
            f"$JS.API.STREAM.DELETE.{COMMANDS}",
            f"$JS.API.STREAM.PURGE.{EDGE}",
        ):
            assert await node.publish_refused(subject), subject


async def test_a_node_cannot_subscribe_to_inboxes_of_others(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        for other in (THERE, *Program):
            assert await node.subscribe_refused(f"{subjects.inbox_prefix(other)}.>")
        assert await node.subscribe_refused("_INBOX.>")


async def test_a_node_publishes_reports_and_output_under_its_own_name(stack: RunningStack) -> None:
    async with client(stack, HERE) as node, client(stack, Program.API) as api:
        jetstream = node.connection.jetstream()
        await jetstream.publish(subjects.report(HERE.id, "result"), b"done")
        await jetstream.publish(subjects.job_output("job2", HERE), b"line 1")
        await jetstream.publish(subjects.job_output("job2", HERE), b"line 2")
        await node.connection.publish(subjects.heartbeat(HERE.id), b"")

        following = await api.connection.jetstream().subscribe(
            subjects.output_of("job2"), stream=OUTPUT, ordered_consumer=True
        )
        assert [(await following.next_msg(timeout=BOUND)).data for _ in range(2)] == [b"line 1", b"line 2"]
        await following.unsubscribe()
        assert node.refusals == []
        assert api.refusals == []


async def test_the_worker_receives_heartbeats_but_cannot_forge_them(stack: RunningStack) -> None:
    async with client(stack, HERE) as node, client(stack, Program.WORKER) as worker:
        for kind, subject_of in (
            ("heartbeat", subjects.heartbeat),
            ("activity", subjects.activity),
            ("sign_in", subjects.sign_in),
            ("platform", subjects.platform_of_node),
        ):
            subscription = await worker.subscribe(f"node.*.{kind}")
            await node.connection.publish(subject_of(HERE.id), b"")
            assert (await subscription.next_msg(timeout=BOUND)).subject == subject_of(HERE.id)
            assert await worker.publish_refused(subject_of(HERE.id))
        assert await worker.publish_refused(subjects.report(HERE.id, "result"))
        assert await worker.publish_refused(f"$JS.API.STREAM.DELETE.{COMMANDS}")


async def test_programs_report_about_themselves_under_their_own_name(stack: RunningStack) -> None:
    async with client(stack, Program.API) as api, client(stack, Program.WORKER) as worker:
        subscription = await worker.subscribe("platform.*")
        for program, each in ((Program.API, api), (Program.WORKER, worker)):
            await each.connection.publish(subjects.platform(program), b"")
            assert (await subscription.next_msg(timeout=BOUND)).subject == subjects.platform(program)
        assert await api.publish_refused(subjects.platform(Program.WORKER))
        assert await worker.publish_refused(subjects.platform(Program.API))
        assert await api.subscribe_refused("platform.*")


async def test_a_node_reads_only_the_answers_to_its_own_questions(stack: RunningStack) -> None:
    async with client(stack, HERE) as node, client(stack, Program.WORKER) as worker:
        answers = await node.subscribe(subjects.answer(HERE.id, "question"))
        await worker.connection.publish(subjects.answer(HERE.id, "question"), b"yes")
        assert (await answers.next_msg(timeout=BOUND)).data == b"yes"
        assert node.refusals == worker.refusals == []
        assert await node.subscribe_refused(subjects.answers_to(THERE.id))
        assert await node.subscribe_refused("answer.>")
        assert await worker.subscribe_refused(subjects.answers_to(HERE.id))


async def test_the_api_asks_nodes_and_each_node_answers_only_for_itself(stack: RunningStack) -> None:
    async with (
        client(stack, HERE) as node,
        client(stack, Program.API) as api,
        client(stack, Program.WORKER) as worker,
    ):
        asked = await node.subscribe(subjects.question(HERE.id))
        answered = await api.subscribe(subjects.replies_to("process"))
        await api.connection.publish(subjects.question(HERE.id), b"how are you")
        assert (await asked.next_msg(timeout=BOUND)).data == b"how are you"
        await node.connection.publish(subjects.reply(HERE.id, "process", "1"), b"fine")
        assert (await answered.next_msg(timeout=BOUND)).data == b"fine"
        assert node.refusals == api.refusals == []
        assert await node.subscribe_refused(subjects.question(THERE.id))
        assert await node.subscribe_refused("question.>")
        assert await node.subscribe_refused(subjects.replies_to("process"))
        for subject in (subjects.question(HERE.id), subjects.reply(THERE.id, "process", "1")):
            assert await node.publish_refused(subject), subject
        # It asks, and commands nobody.
        for subject in (subjects.command(HERE.id, "ensure"), subjects.reply(HERE.id, "process", "1")):
            assert await api.publish_refused(subject), subject
        assert await api.subscribe_refused(subjects.question(HERE.id))
        assert await worker.publish_refused(subjects.question(HERE.id))


async def test_a_node_receives_the_records_of_its_region_and_can_read_them_again(
    stack: RunningStack,
) -> None:
    async with client(stack, Program.WORKER) as worker, client(stack, HERE) as node:
        for key in ("east.host.example", "west.host.example"):
            await worker.connection.jetstream().publish(bucket_subject(key), key.encode())
        feed = await node.connection.jetstream().pull_subscribe_bind(subjects.consumer(HERE), EDGE)
        for _ in range(2):
            (change,) = await feed.fetch(1, timeout=BOUND)
            assert change.data == b"east.host.example"
            with pytest.raises(nats.errors.TimeoutError):
                await feed.fetch(1, timeout=0.5)
            await node.connection.request(
                f"$JS.API.CONSUMER.RESET.{EDGE}.{HERE.id}", b'{"seq":1}', timeout=BOUND
            )
        assert node.refusals == []


async def test_a_node_cannot_read_records_of_another_region_in_any_way(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        west = bucket_subject("west.host.example")
        assert await node.subscribe_refused(bucket_subject(">"))
        assert await node.subscribe_refused(west)
        for verb in ("MSG.NEXT", "INFO", "DELETE", "RESET"):
            assert await node.publish_refused(f"$JS.API.CONSUMER.{verb}.{EDGE}.{THERE.id}"), verb
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
            assert await node.publish_refused(f"$JS.API.{way}"), way


async def test_a_node_reports_the_progress_of_its_edge_and_the_worker_reads_the_latest_report(
    stack: RunningStack,
) -> None:
    async with client(stack, HERE) as node, client(stack, Program.WORKER) as worker:
        subscription = await worker.subscribe(subjects.applied(HERE.id))
        for report in (b"1", b"2"):
            await node.connection.jetstream().publish(subjects.applied(HERE.id), report)
            assert (await subscription.next_msg(timeout=BOUND)).data == report
        last = await worker.connection.jetstream().get_last_msg(
            APPLIED, subjects.applied(HERE.id), direct=True
        )
        assert last.data == b"2"
        assert await worker.publish_refused(subjects.applied(HERE.id))
        assert node.refusals == []


async def test_the_api_can_only_read_job_output(stack: RunningStack) -> None:
    async with client(stack, Program.API) as api:
        for subject in (
            subjects.command(HERE.id, "ensure"),
            subjects.job_output("job1", HERE),
            bucket_subject("east.host.example"),
            subjects.applied(HERE.id),
            f"$JS.API.CONSUMER.CREATE.{COMMANDS}",
            f"$JS.API.STREAM.DELETE.{OUTPUT}",
        ):
            assert await api.publish_refused(subject), subject
        assert await api.subscribe_refused(">")


async def test_a_wrong_password_and_no_password_are_refused(stack: RunningStack) -> None:
    for login in ({"user": "api", "password": "wrong"}, {}):
        with pytest.raises((nats.errors.Error, nats.errors.NoServersError)):
            await nats.connect(stack[Nats].url, allow_reconnect=False, max_reconnect_attempts=0, **login)


async def test_adding_a_node_does_not_disturb_connected_nodes(stack: RunningStack) -> None:
    async with client(stack, HERE) as node:
        await stack.add_node("newcomer")
        async with client(stack, Node("newcomer")) as newcomer:
            await newcomer.connection.flush()
        await node.connection.jetstream().publish(subjects.report(HERE.id, "result"), b"still here")
        assert node.refusals == []


@pytest.mark.parametrize("text", ["", "*", ">", "a.b", "a b", "a*", "here.cmd.>", "a\r\nPUB", "é"])
def test_an_identifier_that_would_match_subjects_of_others_is_refused(text: str) -> None:
    for make in (subjects.commands_of, subjects.heartbeat, subjects.output_of, subjects.bucket_keys):
        with pytest.raises(ValueError, match="cannot be part of a subject"):
            make(text)
    with pytest.raises(ValueError, match="cannot be part of a subject"):
        subjects.permissions(Node(text))


def test_every_program_gets_its_own_user(stack: RunningStack) -> None:
    environments = [stack.environment(program) for program in Program]
    assert [settings["STEAD_NATS_USER"] for settings in environments] == [user.value for user in Program]
    assert len({settings["STEAD_NATS_PASSWORD"] for settings in environments}) == len(Program)


def test_only_the_operator_may_do_everything() -> None:
    for role in (*Program, Node("worker")):
        granted = subjects.permissions(role)
        everything = ">" in granted.publish or ">" in granted.subscribe
        assert everything == (role is Program.OPERATOR)


def test_a_node_named_like_a_program_is_still_a_node() -> None:
    assert subjects.user(Node("worker")) != subjects.user(Program.WORKER)
    assert [role_of(subjects.user(role)) for role in (Node("worker"), *Program)] == [Node("worker"), *Program]
