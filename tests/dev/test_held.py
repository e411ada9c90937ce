"""A test run holds one stack; its workers attach to it and clone their databases."""

import os
from pathlib import Path

import asyncpg
import pytest

from stead.dev.engine import DevError
from stead.dev.held import held
from stead.dev.stack import Nats, Postgres, Redis, Stack
from stead.protocol.subjects import Node


async def test_workers_attach_to_the_stack_the_run_holds(scratch: Path) -> None:
    with held(scratch, [Postgres, Redis, Nats]) as stack:
        await stack.postgres.create_database("template")
        workers = [Stack.attach(scratch) for _ in range(2)]
        for number, worker in enumerate(workers):
            connection = await asyncpg.connect(
                await worker.postgres.clone_database("template", f"gw{number}")
            )
            assert await connection.fetchval("select current_database()") == f"gw{number}"
            await connection.close()
            assert worker.environment() == stack.environment()
            await worker.add_node(f"of-gw{number}")
        assert await workers[0].nats.admits(Node("of-gw0"))
        await workers[0].add_node("late")
        assert await workers[1].add_node("of-gw1") == workers[1].nats_login(Node("of-gw1"))
    assert not await stack.redis.ready()
    with pytest.raises(DevError, match="no stack is running"):
        Stack.attach(scratch)


def test_a_stack_that_cannot_start_says_so_to_its_holder(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(scratch))
    with pytest.raises(DevError, match="redis"), held(scratch, [Redis]):
        pass
