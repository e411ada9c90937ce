"""The names of all NATS subjects, streams and buckets, and who may publish or subscribe to them.

A subject does not prove who sent a message: NATS sends acknowledgements to any reply subject that a client
names, including the command subject of another node. So a node obeys only messages that decode as a command
that names it.
"""

import re
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

COMMANDS = "NODE_COMMANDS"
REPORTS = "NODE_REPORTS"
OUTPUT = "JOB_OUTPUT"
APPLIED = "EDGE_APPLIED"

STREAMS: dict[str, str] = {
    COMMANDS: "node.*.cmd.>",
    REPORTS: "node.*.report.>",
    OUTPUT: "job.*.out.*",
    APPLIED: "node.*.applied",
}
"""The subjects of each stream. Heartbeats, visits and captured mail are in none: they are repeated. Sign-ins
and questions are in none, because an old one is worthless; neither are reports of chunks: nodes repeat them
until the answer."""

EDGE_BUCKET = "edge"
STATE_BUCKETS = 4
"""The state of functions is in a few buckets, which many environments share: thousands of streams would slow
down the start of NATS."""

SESSION = "session"
SESSIONS = f"node.*.report.{SESSION}.*"
"""Reports of nodes that somebody has entered an environment. Reports of results have one word less."""
RESULTS = "node.*.report.*"

_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def token(text: str) -> str:
    """Check one word of a subject: a dot or a wildcard in an identifier would match other subjects."""
    if _TOKEN.fullmatch(text) is None:
        raise ValueError(f"{text!r} cannot be part of a subject")
    return text


def command(node: str, kind: str) -> str:
    return f"node.{token(node)}.cmd.{token(kind)}"


def commands_of(node: str) -> str:
    return f"node.{token(node)}.cmd.>"


def report(node: str, kind: str) -> str:
    return f"node.{token(node)}.report.{token(kind)}"


def reports_of(node: str) -> str:
    return f"node.{token(node)}.report.>"


def session_report(node: str, session: str) -> str:
    return f"node.{token(node)}.report.{SESSION}.{token(session)}"


def heartbeat(node: str) -> str:
    return f"node.{token(node)}.heartbeat"


def activity(node: str) -> str:
    """Where a node reports which of its environments were visited."""
    return f"node.{token(node)}.activity"


def captured_mail(node: str) -> str:
    """Where a node reports what clones tried to send."""
    return f"node.{token(node)}.mail"


def sign_in(node: str) -> str:
    """Where a node asks whether a sign-in link is valid."""
    return f"node.{token(node)}.sign_in"


def telemetry(node: str) -> str:
    """Where a node asks where to put what it has recorded."""
    return f"node.{token(node)}.telemetry"


def platform(program: "Program") -> str:
    """Where a program of the control plane reports what it has recorded about itself."""
    return f"platform.{program.value}"


def platform_of_node(node: str) -> str:
    return f"node.{token(node)}.platform"


PLATFORM_REPORTS = ("platform.*", "node.*.platform")


def function_state(node: str) -> str:
    """Where a node asks for the state of its functions."""
    return f"node.{token(node)}.function_state"


def answer(node: str, question: str) -> str:
    """Where a node gets the answer to a question. Only the worker publishes there; a reply subject, which the
    node could choose, is not used."""
    return f"answer.{token(node)}.{token(question)}"


def answers_to(node: str) -> str:
    return f"answer.{token(node)}.*"


def question(node: str) -> str:
    """Where the API asks a node about its sites."""
    return f"question.{token(node)}"


def reply(node: str, process: str, question_id: str) -> str:
    """Where a node answers a question of a process of the API. Not the reply subject of the message: a node
    could then publish to the inbox of the API, in the name of others."""
    return f"reply.{token(node)}.{token(process)}.{token(question_id)}"


def replies_to(process: str) -> str:
    return f"reply.*.{token(process)}.*"


def applied(node: str) -> str:
    """Where a node reports the revision that its edge has applied."""
    return f"node.{token(node)}.applied"


def output_of(job: str) -> str:
    return f"job.{token(job)}.out.*"


def bucket_stream(bucket: str) -> str:
    return f"KV_{token(bucket)}"


def bucket_keys(bucket: str) -> str:
    return f"$KV.{token(bucket)}.>"


def state_bucket(environment: str) -> str:
    return f"functions-{zlib.crc32(environment.encode()) % STATE_BUCKETS}"


def state_stream(environment: str) -> str:
    return bucket_stream(state_bucket(environment))


def state_subjects(environment: str) -> str:
    """The beginning of the subjects of everything that the functions of an environment keep."""
    return f"$KV.{state_bucket(environment)}.{token(environment)}"


def state_subject(environment: str, kind: str, namespace: str) -> str:
    return f"{state_subjects(environment)}.{token(kind)}.{token(namespace)}"


def state_buckets() -> tuple[str, ...]:
    return tuple(f"functions-{number}" for number in range(STATE_BUCKETS))


class Program(StrEnum):
    OPERATOR = "operator"
    API = "api"
    WORKER = "worker"


@dataclass(frozen=True)
class Node:
    id: str


NatsIdentity = Program | Node


def user(identity: NatsIdentity) -> str:
    """The user name in NATS. The prefix keeps a node called `worker` apart from the worker."""
    return f"node-{token(identity.id)}" if isinstance(identity, Node) else identity.value


def job_output(job: str, author: NatsIdentity) -> str:
    """The last word is the author: NATS refuses to publish under another author's name."""
    return f"job.{token(job)}.out.{user(author)}"


def inbox_prefix(identity: NatsIdentity) -> str:
    """For the client library: no other user may subscribe to these replies."""
    return f"_INBOX.{user(identity)}"


def consumer(node: Node) -> str:
    """The name of the durable consumers that the worker creates for a node: for commands and for edge
    records."""
    return token(node.id)


@dataclass(frozen=True)
class NatsPermissions:
    """Everything else is refused. `deny` overrides `allow`, in case `allow` is widened later."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    deny_publish: tuple[str, ...] = ()
    deny_subscribe: tuple[str, ...] = ()


def permissions(identity: NatsIdentity) -> NatsPermissions:
    match identity:
        case Program.OPERATOR:
            return NatsPermissions(publish=(">",), subscribe=(">",))
        case Program.API:
            return NatsPermissions(
                # It asks nodes, and commands none.
                publish=(*_read_permissions(OUTPUT), "question.*", platform(identity)),
                subscribe=(f"{inbox_prefix(identity)}.>", "reply.*.*.*"),
                deny_publish=(*_SYSTEM, "node.>", "reply.>"),
            )
        case Program.WORKER:
            return _worker(identity)
        case Node():
            return _node(identity)
        case _ as never:
            assert_never(never)


_SYSTEM = ("$SYS.>",)
_NODE_REPORTS = (
    *("node.*.report.>", "node.*.heartbeat", "node.*.applied", "node.*.activity", "node.*.mail"),
    *("node.*.sign_in", "node.*.telemetry", "node.*.platform", "node.*.function_state"),
)
_DESTRUCTIVE = tuple(
    f"$JS.API.STREAM.{verb}.>" for verb in ("DELETE", "PURGE", "MSG.DELETE", "RESTORE", "SNAPSHOT")
)


def _worker(identity: Program) -> NatsPermissions:
    state = [bucket_stream(bucket) for bucket in state_buckets()]
    streams = [*STREAMS, bucket_stream(EDGE_BUCKET), *state]
    return NatsPermissions(
        publish=(
            *("node.*.cmd.>", "answer.*.*", f"job.*.out.{user(identity)}", platform(identity)),
            bucket_keys(EDGE_BUCKET),
            *(bucket_keys(bucket) for bucket in state_buckets()),
            *(f"$JS.API.STREAM.MSG.GET.{stream}" for stream in state),
            *(f"$JS.API.STREAM.{verb}.{stream}" for stream in streams for verb in ("CREATE", "UPDATE")),
            *(subject for stream in streams for subject in _read_permissions(stream)),
            *(f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.*" for stream in streams),
        ),
        subscribe=(f"{inbox_prefix(identity)}.>", *_NODE_REPORTS, "platform.*"),
        deny_publish=(*_SYSTEM, *_DESTRUCTIVE, *_NODE_REPORTS, "question.>", "reply.>"),
        deny_subscribe=_SYSTEM,
    )


def _node(identity: Node) -> NatsPermissions:
    own = consumer(identity)
    return NatsPermissions(
        publish=(
            *(reports_of(identity.id), heartbeat(identity.id), applied(identity.id), activity(identity.id)),
            captured_mail(identity.id),
            sign_in(identity.id),
            telemetry(identity.id),
            platform_of_node(identity.id),
            f"reply.{token(identity.id)}.*.*",
            function_state(identity.id),
            f"job.*.out.{user(identity)}",
            *_pull_permissions(COMMANDS, own),
            *_follow_permissions(EDGE_BUCKET, own),
        ),
        subscribe=(f"{inbox_prefix(identity)}.>", answers_to(identity.id), question(identity.id)),
        deny_publish=(
            *_SYSTEM,
            *(
                "node.*.cmd.>",
                "answer.>",
                "question.>",
                "$KV.>",
                "$JS.API.CONSUMER.CREATE.>",
                "$JS.API.CONSUMER.DURABLE.CREATE.>",
            ),
            *("$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.MSG.GET.>"),
            *_DESTRUCTIVE,
        ),
        deny_subscribe=(*_SYSTEM, "node.>", "job.>", "$KV.>", "$JS.>"),
    )


def _read_permissions(stream: str) -> tuple[str, ...]:
    """To create consumers of a stream, to receive their messages, and to look up single messages."""
    return (
        f"$JS.API.STREAM.INFO.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}.>",
        *(f"$JS.API.CONSUMER.{verb}.{stream}.*" for verb in ("INFO", "MSG.NEXT", "DELETE")),
        f"$JS.API.DIRECT.GET.{stream}",
        f"$JS.API.DIRECT.GET.{stream}.>",
        f"$JS.ACK.{stream}.>",
        f"$JS.FC.{stream}.>",
    )


def _pull_permissions(stream: str, consumer_name: str) -> tuple[str, ...]:
    """To use one durable consumer that another program created."""
    return (
        *(f"$JS.API.CONSUMER.{verb}.{stream}.{consumer_name}" for verb in ("INFO", "MSG.NEXT")),
        f"$JS.ACK.{stream}.{consumer_name}.>",
    )


def _follow_permissions(bucket: str, consumer_name: str) -> tuple[str, ...]:
    """To receive changes through its own consumer, and to reset it after a loss. Nothing else: look-ups of
    single messages and the stream's description would reveal the keys of other regions."""
    stream = bucket_stream(bucket)
    return tuple(
        f"$JS.API.CONSUMER.{verb}.{stream}.{consumer_name}" for verb in ("INFO", "MSG.NEXT", "RESET")
    )
