"""Readers delete their consumers on the NATS server, whenever they leave."""

import asyncio
from contextlib import suppress

from stead.control.engines.nats_reader import StreamReader
from stead.protocol.subjects import OUTPUT, Program, output_of
from tests.faults.processes import eventually
from tests.streams.stage import Stage, connection_of

READERS = 400


async def test_readers_that_leave_while_they_connect_leave_no_consumer(stage: Stage):
    before = await stage.consumers()
    async with connection_of(stage.stack, Program.API) as nats_:
        readers = [StreamReader(nats_, OUTPUT, output_of(f"job_{n}"), after=0) for n in range(READERS)]
        await asyncio.gather(*(_read_briefly(reader, n / 1000) for n, reader in enumerate(readers)))
        assert await stage.consumers() <= before


async def _read_briefly(reader: StreamReader, seconds: float) -> None:
    reading = asyncio.create_task(reader.next())
    await asyncio.wait({reading}, timeout=seconds)
    reading.cancel()
    await asyncio.wait({reading})
    await reader.close()


async def test_a_reader_whose_closing_was_interrupted_can_be_closed_again(stage: Stage):
    before = await stage.consumers()

    async def has_consumer() -> bool:
        return bool(await stage.consumers() - before)

    async with connection_of(stage.stack, Program.API) as nats_:
        for turns in range(5):
            reader = StreamReader(nats_, OUTPUT, output_of("job_1"), after=0)
            reading = asyncio.create_task(reader.next())
            await eventually(has_consumer, within=20, what="the reader has its consumer")
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            closing = asyncio.create_task(reader.close())
            for _ in range(turns):
                await asyncio.sleep(0)
            closing.cancel()
            with suppress(asyncio.CancelledError):
                await closing
            await reader.close()
            assert await stage.consumers() <= before
