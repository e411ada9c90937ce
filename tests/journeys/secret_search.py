"""Looks for texts in everything that a stack keeps or writes."""

import asyncio
import base64
import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import asyncpg
from temporalio.client import Client

from stead.control.engines.redis import Redis as RedisClient
from stead.dev.engines.postgres import SUPERUSER, Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.temporal import Temporal
from stead.dev.running_stack import RunningStack
from stead.dev.supervised_program import LOOPBACK
from tests.control.audit.secret_fields import everything_in_redis
from tests.patience import slowdown

SEARCH_SECONDS = 60
_NOT_SEARCHED = (
    "secrets.json",  # the secrets of the stack itself
    "*.ext4",  # disks of environments: their content is mounted beside them, and searched there
)


def forms(secret: str) -> set[str]:
    """As it is, in hexadecimal, and in base64 wherever in a longer text it begins."""
    raw = secret.encode()
    shifted = {base64.b64encode(b"\0" * shift + raw).decode()[4 if shift else 0 : -4] for shift in range(3)}
    return {secret, raw.hex(), *shifted}


async def find_places(stack: RunningStack, texts: Iterable[str]) -> dict[str, set[str]]:
    """For each text that occurs: where. A place is the name of an engine or a program, or of its log."""
    known = set(texts)
    # Redis first: what it holds expires.
    contents = {"redis": (await _read_redis(stack)).encode(), "temporal": await _read_temporal(stack)}
    await _write_postgres_to_disk(stack)
    found = await asyncio.to_thread(_search_files, stack, known)
    for text in known:
        for place, content in contents.items():
            if text.encode() in content:
                found.setdefault(text, set()).add(place)
    return found


def _search_files(stack: RunningStack, texts: Iterable[str]) -> dict[str, set[str]]:
    excluded = [f"--exclude={name}" for name in _NOT_SEARCHED]
    options = ("--recursive", "--text", "--fixed-strings", "--only-matching", "--null", *excluded)
    done = subprocess.run(
        ["grep", *options, "--file=-", "."],  # noqa: S607
        cwd=stack.directory.path,
        # Bytes, not characters: a hundred times faster in files that are not text.
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        input="\n".join(texts).encode(),
        capture_output=True,
        timeout=SEARCH_SECONDS * slowdown(),
        check=False,
    )
    # Files of a database come and go while it runs. Every other file must have been read.
    unread = [line for line in done.stderr.splitlines() if not line.endswith(b"No such file or directory")]
    assert not unread
    found: dict[str, set[str]] = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        place, _, text = line.removeprefix("./").partition("\0")
        parts = place.split("/")
        found.setdefault(text, set()).add(place if parts[0] == "logs" else parts[0])
    return found


async def _write_postgres_to_disk(stack: RunningStack) -> None:
    """What was just committed may still be only in memory, where the search does not look."""
    password = stack.secrets["postgres_superuser"]
    connection = await asyncpg.connect(
        host=LOOPBACK, port=stack[Postgres].port, user=SUPERUSER, password=password, database="postgres"
    )
    try:
        await connection.execute("checkpoint")
    finally:
        await connection.close()


async def _read_redis(stack: RunningStack) -> str:
    async with redis_of(stack) as redis:
        return await everything_in_redis(redis)


@asynccontextmanager
async def redis_of(stack: RunningStack) -> AsyncIterator[RedisClient]:
    redis = RedisClient(stack[Redis].url, timeout=5, on_connect=lambda: None)
    await redis.start()
    try:
        yield redis
    finally:
        await redis.close()


async def _read_temporal(stack: RunningStack) -> bytes:
    """The histories of all workflows, and what lists of workflows show."""
    client = await Client.connect(stack[Temporal].address)
    found: list[bytes] = []
    async for workflow in client.list_workflows():
        handle = client.get_workflow_handle(workflow.id, run_id=workflow.run_id)
        found.append(workflow.raw_info.SerializeToString())
        found += [event.SerializeToString() for event in (await handle.fetch_history()).events]
    return b"\n".join(found)
