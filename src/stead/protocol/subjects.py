"""Every NATS subject, stream and bucket by name, and who may publish or subscribe to which.

A subject is not a signature: the server sends an acknowledgement wherever the asker pointed its reply,
another node's command subject included. So a node obeys only what decodes as a command that names it.
"""

import re
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
"""What each stream keeps. Heartbeats and visits are in none: an old one says nothing."""

EDGE_BUCKET = "edge"

_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def token(text: str) -> str:
    """One word of a subject; a dot or a wildcard in an identifier would reach into somebody else's."""
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


def heartbeat(node: str) -> str:
    return f"node.{token(node)}.heartbeat"


def activity(node: str) -> str:
    """Where a node says which of its environments were visited."""
    return f"node.{token(node)}.activity"


def applied(node: str) -> str:
    """Where a node says how far its edge has come."""
    return f"node.{token(node)}.applied"


def output_of(job: str) -> str:
    return f"job.{token(job)}.out.*"


def bucket_stream(bucket: str) -> str:
    return f"KV_{token(bucket)}"


def bucket_keys(bucket: str) -> str:
    return f"$KV.{token(bucket)}.>"


class Program(StrEnum):
    OPERATOR = "operator"
    API = "api"
    WORKER = "worker"


@dataclass(frozen=True)
class Node:
    id: str


Role = Program | Node


def user(role: Role) -> str:
    """The name it logs in with. The prefix keeps a node called `worker` from being the worker."""
    return f"node-{token(role.id)}" if isinstance(role, Node) else role.value


def job_output(job: str, author: Role) -> str:
    """The last word is who wrote: the server refuses a line under another's name."""
    return f"job.{token(job)}.out.{user(author)}"


def inbox_prefix(role: Role) -> str:
    """To be given to the client library: nobody else may listen to what is answered there."""
    return f"_INBOX.{user(role)}"


def consumer(node: Node) -> str:
    """The durable consumer the worker makes for a node, on the commands and on the bucket of the edge."""
    return token(node.id)


@dataclass(frozen=True)
class Permissions:
    """What is not allowed is refused; `deny` also beats an `allow` that somebody widens later."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    deny_publish: tuple[str, ...] = ()
    deny_subscribe: tuple[str, ...] = ()


def permissions(role: Role) -> Permissions:
    match role:
        case Program.OPERATOR:
            return Permissions(publish=(">",), subscribe=(">",))
        case Program.API:
            return Permissions(
                publish=_reads(OUTPUT), subscribe=(f"{inbox_prefix(role)}.>",), deny_publish=_SYSTEM
            )
        case Program.WORKER:
            return _worker(role)
        case Node():
            return _node(role)
        case _ as never:
            assert_never(never)


_SYSTEM = ("$SYS.>",)
_SAID_BY_NODES = ("node.*.report.>", "node.*.heartbeat", "node.*.applied", "node.*.activity")
_DESTRUCTIVE = tuple(
    f"$JS.API.STREAM.{verb}.>" for verb in ("DELETE", "PURGE", "MSG.DELETE", "RESTORE", "SNAPSHOT")
)


def _worker(role: Program) -> Permissions:
    streams = [*STREAMS, bucket_stream(EDGE_BUCKET)]
    return Permissions(
        publish=(
            *("node.*.cmd.>", f"job.*.out.{user(role)}"),
            bucket_keys(EDGE_BUCKET),
            *(f"$JS.API.STREAM.{verb}.{stream}" for stream in streams for verb in ("CREATE", "UPDATE")),
            *(subject for stream in streams for subject in _reads(stream)),
            *(f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.*" for stream in streams),
        ),
        subscribe=(f"{inbox_prefix(role)}.>", *_SAID_BY_NODES),
        deny_publish=(*_SYSTEM, *_DESTRUCTIVE, *_SAID_BY_NODES),
        deny_subscribe=_SYSTEM,
    )


def _node(role: Node) -> Permissions:
    mine = consumer(role)
    return Permissions(
        publish=(
            *(reports_of(role.id), heartbeat(role.id), applied(role.id), activity(role.id)),
            f"job.*.out.{user(role)}",
            *_pulls(COMMANDS, mine),
            *_follows(EDGE_BUCKET, mine),
        ),
        subscribe=(f"{inbox_prefix(role)}.>",),
        deny_publish=(
            *_SYSTEM,
            *("node.*.cmd.>", "$KV.>", "$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.DURABLE.CREATE.>"),
            *("$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.MSG.GET.>"),
            *_DESTRUCTIVE,
        ),
        deny_subscribe=(*_SYSTEM, "node.>", "job.>", "$KV.>", "$JS.>"),
    )


def _reads(stream: str) -> tuple[str, ...]:
    """Making consumers of a stream, taking what they deliver, and looking single messages up."""
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


def _pulls(stream: str, mine: str) -> tuple[str, ...]:
    """Using one durable consumer that somebody else made."""
    return (
        *(f"$JS.API.CONSUMER.{verb}.{stream}.{mine}" for verb in ("INFO", "MSG.NEXT")),
        f"$JS.ACK.{stream}.{mine}.>",
    )


def _follows(bucket: str, mine: str) -> tuple[str, ...]:
    """Changes through its own consumer, and all of it again after a loss. Nothing else: single look-ups and
    the stream's description would show the keys of other regions."""
    stream = bucket_stream(bucket)
    return tuple(f"$JS.API.CONSUMER.{verb}.{stream}.{mine}" for verb in ("INFO", "MSG.NEXT", "RESET"))
