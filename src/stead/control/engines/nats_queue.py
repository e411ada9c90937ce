"""Takes messages of a NATS stream through a durable consumer that several processes share: each message is
handled by one of them, and again by another one if it was not acknowledged."""

import contextlib
from collections.abc import Awaitable, Callable

import structlog

from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.control.engines.nats_streams import consumer_config
from stead.control.engines.postgres import DATABASE_FAILED
from stead.control.engines.transaction_guard import require_no_transaction
from stead.protocol.streams import ConsumerSpec

FETCH_SECONDS = 5.0
RETRY_SECONDS = 2.0
"""Until then, other messages are taken before one that could not be handled."""

log = structlog.get_logger()


async def take_messages(
    nats_: Nats, consumer: ConsumerSpec, handle: Callable[[Message], Awaitable[None]]
) -> None:
    """Until cancelled. A message is acknowledged when `handle` returns. Raises one of NATS_UNREACHABLE or
    DATABASE_FAILED; the message is then delivered again. Any other error of `handle` would come back with
    each delivery and keep all other messages waiting, so it is logged and the message is given up."""
    require_no_transaction("NATS")
    await nats_.ready()
    await nats_.js.add_consumer(consumer.stream, consumer_config(consumer))
    pull = await nats_.js.pull_subscribe_bind(consumer.durable, consumer.stream)
    try:
        while True:
            try:
                (message,) = await pull.fetch(1, timeout=FETCH_SECONDS)
            except (TimeoutError, ValueError):  # a fetch may also end without any
                continue
            await _handle_one(message, handle)
    finally:
        with contextlib.suppress(Exception):
            await pull.unsubscribe()


async def _handle_one(message: Message, handle: Callable[[Message], Awaitable[None]]) -> None:
    try:
        await handle(message)
    except (*DATABASE_FAILED, *NATS_UNREACHABLE):
        with contextlib.suppress(Exception):
            await message.nak(RETRY_SECONDS)
        raise
    except Exception:
        log.exception("nats.message_given_up", subject=message.subject)
        await message.term()
    except BaseException:
        with contextlib.suppress(Exception):
            await message.nak()
        raise
    else:
        await message.ack()
