"""A stack runs in the background, and several processes attach to it and clone databases."""

import os
from pathlib import Path

import asyncpg
import pytest

from stead.dev.background_stack import run_stack_in_background
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.errors import DevError
from stead.dev.stack import Stack
from stead.protocol.subjects import Node


async def test_several_processes_attach_to_one_stack_in_the_background(scratch: Path) -> None:
    with run_stack_in_background(scratch, [Postgres, Redis, Nats]) as stack:
        await stack[Postgres].create_database("template")
        workers = [Stack.attach(scratch) for _ in range(2)]
        for number, worker in enumerate(workers):
            connection = await asyncpg.connect(
                await worker[Postgres].clone_database("template", f"gw{number}")
            )
            assert await connection.fetchval("select current_database()") == f"gw{number}"
            await connection.close()
            assert worker.environment() == stack.environment()
            await worker.add_node(f"of-gw{number}")
        assert await workers[0][Nats].accepts_login(Node("of-gw0"))
        await workers[0].add_node("late")
        assert await workers[1].add_node("of-gw1") == workers[1][Nats].login(Node("of-gw1"))
    assert not await stack[Redis].is_ready()
    with pytest.raises(DevError, match="no stack is running"):
        Stack.attach(scratch)


def test_a_background_stack_that_cannot_start_raises_the_reason(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(scratch))
    with pytest.raises(DevError, match="redis"), run_stack_in_background(scratch, [Redis]):
        pass
