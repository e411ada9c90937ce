"""Inside a transaction, nothing but PostgreSQL is asked."""

import asyncio
from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

import stead.control.engines
from stead.control.app import ControlPlane
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.smtp import SmtpServer
from stead.control.engines.temporal import Orchestrator
from stead.control.engines.temporal_workflow import Plan
from stead.control.engines.transaction_guard import IoInTransaction, require_no_transaction

UNGUARDED = {
    "__init__": "",
    "migrations": "uses PostgreSQL only",
    "postgres": "is PostgreSQL",
    "postgres_listener": "is PostgreSQL",
    "postgres_pool": "is PostgreSQL",
    "redis": "the rate limiter is asked inside transactions; every request ends after half a second",
    "nats_reader": "gets its client from `nats`",
    "nats_state": "gets its client from `nats`",
    "nats_streams": "gets its client from `nats`",
    "temporal_activities": "runs in Temporal's own context",
    "temporal_workflow": "runs in Temporal's own context",
    "transaction_guard": "is the guard",
}


async def _ask_nats(plane: ControlPlane) -> None:
    await plane.nats.client.flush()


async def _ask_object_store(_: ControlPlane) -> None:
    await ObjectStore("http://127.0.0.1:1", "key", "secret", "bucket").size("object")


async def _ask_smtp(_: ControlPlane) -> None:
    await SmtpServer("smtp://127.0.0.1:1").send(EmailMessage(), "ada@example.com")


async def _ask_temporal(_: ControlPlane) -> None:
    client: Any = None
    await Orchestrator(client).start(Plan("job_1", 1.0))


ENGINES: list[Callable[[ControlPlane], Awaitable[None]]] = [
    _ask_nats,
    _ask_object_store,
    _ask_smtp,
    _ask_temporal,
]


@pytest.mark.parametrize("ask", ENGINES, ids=lambda ask: ask.__name__)
async def test_a_request_to_another_engine_inside_a_transaction_is_a_bug(
    plane: ControlPlane, ask: Callable[[ControlPlane], Awaitable[None]]
) -> None:
    async with plane.database.transaction() as tx:
        await tx.value("select 1")
        with pytest.raises(IoInTransaction):
            await ask(plane)


async def test_a_request_from_a_task_that_outlives_the_transaction_is_allowed(plane: ControlPlane) -> None:
    committed = asyncio.Event()

    async def ask_later() -> None:
        await committed.wait()
        require_no_transaction("anything")

    async with plane.database.transaction():
        task = asyncio.create_task(ask_later())
        with pytest.raises(IoInTransaction):
            require_no_transaction("anything")
    require_no_transaction("anything")
    committed.set()
    await task


def test_every_engine_has_the_guard_or_a_reason_to_have_none() -> None:
    modules = {path.stem: path for path in Path(*stead.control.engines.__path__).glob("*.py")}
    assert UNGUARDED.keys() <= modules.keys()
    for name in modules.keys() - UNGUARDED.keys():
        assert "require_no_transaction(" in modules[name].read_text(), name
