"""The DNS resolver of a development stack: `python -m stead.dev.resolver LISTEN ZONES OTHERWISE`.

Each query goes to the name server of the zones. One that it refuses, because the name is in no zone, goes to
the server in which every name points to this machine. Messages are passed on as they are.
"""

import asyncio
import contextlib
import signal
import sys
from typing import cast

Address = tuple[str, int]

SECONDS = 3.0
_FLAGS, _RCODE, _REFUSED = 3, 0x0F, 5


def _parse(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _is_refused(answer: bytes | None) -> bool:
    return answer is None or len(answer) <= _FLAGS or answer[_FLAGS] & _RCODE == _REFUSED


class _Answer(asyncio.DatagramProtocol):
    """The answer to one query; None if nothing listens there."""

    def __init__(self) -> None:
        self.received: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, _: object) -> None:
        if not self.received.done():
            self.received.set_result(data)

    def error_received(self, _: Exception) -> None:
        if not self.received.done():
            self.received.set_result(None)


async def _ask(query: bytes, server: Address) -> bytes | None:
    transport, answer = await asyncio.get_running_loop().create_datagram_endpoint(_Answer, remote_addr=server)
    try:
        transport.sendto(query)
        async with asyncio.timeout(SECONDS):
            return await answer.received
    except TimeoutError:
        return None
    finally:
        transport.close()


async def _ask_over_tcp(query: bytes, server: Address) -> bytes | None:
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(*server)
            try:
                writer.write(len(query).to_bytes(2, "big") + query)
                size = int.from_bytes(await reader.readexactly(2), "big")
                return await reader.readexactly(size)
            finally:
                writer.close()
    except (OSError, EOFError, TimeoutError):
        return None


class _Resolver(asyncio.DatagramProtocol):
    def __init__(self, zones: Address, otherwise: Address) -> None:
        self._zones, self._otherwise = zones, otherwise
        self._transport: asyncio.DatagramTransport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, address: Address) -> None:
        task = asyncio.create_task(self._answer(data, address))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, query: bytes, address: Address) -> None:
        answer = await _ask(query, self._zones)
        if _is_refused(answer):
            answer = await _ask(query, self._otherwise)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, address)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            query = await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))
            answer = await _ask_over_tcp(query, self._zones)
            if _is_refused(answer):
                answer = await _ask_over_tcp(query, self._otherwise)
            if answer is not None:
                writer.write(len(answer).to_bytes(2, "big") + answer)
                await writer.drain()
        writer.close()


async def run(listen: str, zones: str, otherwise: str) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    resolver = _Resolver(_parse(zones), _parse(otherwise))
    host, port = _parse(listen)
    transport, _ = await loop.create_datagram_endpoint(lambda: resolver, local_addr=(host, port))
    server = await asyncio.start_server(resolver.serve, host, port)
    await stop.wait()
    server.close()
    transport.close()


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
