"""Puts a text where no secret may be, so that a search can show that it would find one."""

import asyncio
import base64
import secrets

import asyncpg
from temporalio.client import Client

from stead.dev.engines.postgres import Postgres
from stead.dev.engines.temporal import Temporal
from stead.dev.running_stack import RunningStack
from stead.protocol.subjects import Program
from tests.journeys.secret_search import redis_of
from tests.node.harness import connected


def encodings(secret: str) -> list[str]:
    """As it is, and as part of a longer text that is encoded."""
    longer = f"a {secret} z".encode()
    return [secret, longer.hex(), base64.b64encode(longer).decode()]


async def plant(stack: RunningStack, text: str) -> set[str]:
    """Put the text into engines and into every log. Returns the places, named as the search names them."""
    name = f"planted{secrets.token_hex(8)}"
    await _in_postgres(stack, name, text)
    await _in_temporal(stack, name, text)
    async with redis_of(stack) as redis:
        await redis.execute("SET", name, text)
    async with connected(stack, Program.OPERATOR) as client:
        await client.jetstream().add_stream(name=name, subjects=[name])
        await client.jetstream().publish(name, text.encode())
    return {"postgres", "temporal", "redis", "nats", *await asyncio.to_thread(_in_files, stack, text)}


async def _in_postgres(stack: RunningStack, name: str, text: str) -> None:
    connection = await asyncpg.connect(stack[Postgres].url)
    try:
        await connection.execute(f"create table {name} (content text)")
        await connection.execute(f"insert into {name} values ($1)", text)
    finally:
        await connection.close()


async def _in_temporal(stack: RunningStack, name: str, text: str) -> None:
    """As the argument of a workflow that no worker knows."""
    client = await Client.connect(stack[Temporal].address)
    started = await client.start_workflow("planted", text, id=name, task_queue=name)
    await started.terminate()


def _in_files(stack: RunningStack, text: str) -> set[str]:
    """In every log, and in a file of the node."""
    logs = sorted(stack.directory.logs.iterdir())
    for log in logs:
        with log.open("a") as file:
            file.write(f"{text}\n")
    planted = stack.directory.home("node") / "planted"
    with planted.open("a") as file:
        file.write(text)
    return {"node", *(f"logs/{log.name}" for log in logs)}
