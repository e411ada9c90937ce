"""The connection to NATS survives requests that were given up; a flush covers all that was sent before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from stead.control.engines import nats as engine
from stead.control.engines.nats import NATS_UNREACHABLE, Nats
from stead.protocol.subjects import Program
from tests.engines import engine_addresses
from tests.patience import time_limit

SECONDS = 20.0
ATTEMPTS = 50


@pytest.fixture
async def connection() -> AsyncIterator[Nats]:
    given = engine_addresses()
    made = Nats(given.nats, user=given.nats_user, password=given.nats_password, program=Program.API)
    made.start()
    async with time_limit(SECONDS):
        await made.ready()
    yield made
    await made.stop()


async def _wait_for_answers(connection: Nats) -> None:
    """Wait until the server has answered every flush, also those that were given up. Another flush would not
    show that the connection is deaf: the library then does not wait for an answer."""
    async with time_limit(SECONDS):
        while connection.client._pongs:  # noqa: ASYNC110 - nothing announces an answer that nobody waits for
            await asyncio.sleep(0.01)


async def test_a_flush_that_took_too_long_does_not_make_the_connection_deaf(connection: Nats) -> None:
    attempts = given_up = 0
    async with time_limit(SECONDS):
        # On a busy machine the server may answer before this process runs again.
        while attempts < ATTEMPTS or not given_up:
            attempts += 1
            try:
                await connection.client.flush(timeout=1e-9)  # type: ignore[arg-type]
            except NATS_UNREACHABLE:
                given_up += 1
    await _wait_for_answers(connection)


async def test_a_flush_that_was_cancelled_does_not_make_the_connection_deaf(connection: Nats) -> None:
    cancelled = 0
    for turns in range(ATTEMPTS):
        flushing = asyncio.create_task(connection.client.flush())
        for _ in range(turns % 5):
            await asyncio.sleep(0)
        flushing.cancel()
        with suppress(asyncio.CancelledError):
            await flushing
        cancelled += flushing.cancelled()
    assert cancelled
    await _wait_for_answers(connection)


async def test_a_flush_waits_for_what_was_sent_before_it(
    connection: Nats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers in the order of what it receives, so the ping must be the last."""
    transport, sent = connection.client._transport, bytearray()
    assert transport is not None
    write, write_lines = transport.write, transport.writelines

    def watched_write(data: bytes) -> None:
        sent.extend(data)
        write(data)

    def watched_write_lines(lines: list[bytes]) -> None:
        sent.extend(b"".join(lines))
        write_lines(lines)

    monkeypatch.setattr(transport, "write", watched_write)
    monkeypatch.setattr(transport, "writelines", watched_write_lines)
    await connection.client.subscribe("_INBOX_api.flushed")
    await connection.flush(SECONDS)
    assert [line.split()[0] for line in bytes(sent).splitlines()] == [b"SUB", b"PING"]


async def test_stopping_while_the_server_answers_a_check_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library swallows a cancellation that arrives together with an answer. The check went on for ever
    then, and the program did not end."""
    monkeypatch.setattr(engine, "CHECK_SECONDS", 0.0)
    given = engine_addresses()
    for turn in range(ATTEMPTS):
        nats = Nats(given.nats, user=given.nats_user, password=given.nats_password, program=Program.API)
        nats.start()
        async with time_limit(SECONDS):
            await nats.ready()
            for _ in range(turn):
                await asyncio.sleep(0)
            await nats.stop()
