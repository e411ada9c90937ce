"""What PHP answers costs the node little, however it is cut into records."""

import asyncio

import pytest

from stead.node.wordpress import fastcgi_client
from stead.node.wordpress.fastcgi_client import MAX_RESPONSE, RequestFailed

STDOUT, END = 6, 3


def record(kind: int, content: bytes) -> bytes:
    return bytes([1, kind, 0, 1, *len(content).to_bytes(2, "big"), 0, 0]) + content


def reader_of(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


async def test_the_end_of_a_long_response_is_kept():
    data = b"".join(record(STDOUT, b"x" * 60_000) for _ in range(20)) + record(STDOUT, b"end")
    response = await fastcgi_client._read(reader_of(data + record(END, b"")))
    assert len(response) == MAX_RESPONSE
    assert response.endswith(b"xend")


async def test_a_response_that_is_too_long_is_given_up():
    with pytest.raises(RequestFailed):
        await fastcgi_client._read(reader_of(record(STDOUT, b"x" * 60_000) * 100 + record(END, b"")))
    with pytest.raises(RequestFailed):
        await fastcgi_client._read(reader_of(record(STDOUT, b"") * 600_000 + record(END, b"")))


async def test_others_are_served_while_many_small_records_are_read():
    turns = 0

    async def serve_others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(serve_others())
    await fastcgi_client._read(reader_of(record(STDOUT, b"x") * 20_000 + record(END, b"")))
    others.cancel()
    assert turns >= 50
