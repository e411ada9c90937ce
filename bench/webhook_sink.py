"""`python -m bench.webhook_sink HOST PORT CERTIFICATE KEY` accepts every POST over TLS and answers 204."""

import asyncio
import re
import ssl
import sys

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_RESPONSE = b"HTTP/1.1 204 No Content\r\n\r\n"


class Sink(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._received, 0, end)
            request_length = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < request_length:
                return
            self._received = self._received[request_length:]
            assert self._transport is not None
            self._transport.write(_RESPONSE)


async def _serve(host: str, port: int, certificate: str, key: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.get_running_loop().create_server(Sink, host, port, ssl=context)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))
