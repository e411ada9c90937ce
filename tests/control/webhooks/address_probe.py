"""Runs inside a network namespace in which every address leads to the server below.

Reads cases from standard input, sends a delivery for each, and prints the addresses that were reached.
"""

import asyncio
import json
import socket
import ssl
import sys
from typing import Any

from stead.control.http.client_address import parse_networks
from stead.control.webhooks import urls
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.connection import RequestFailed
from stead.shared.address_policy import AddressPolicy
from tests.control.webhooks import name_server

PORTS = (443, 8443, 80, 3128)
EVERYTHING = ("0.0.0.0/0", "::/0")


class CatchAllServer:
    """Accepts connections on every address and records the address before any data is exchanged."""

    def __init__(self, context: ssl.SSLContext, response: bytes) -> None:
        self._context, self._response = context, response
        self.reached: list[str] = []
        self.posts = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        for family, wildcard in ((socket.AF_INET, "0.0.0." + "0"), (socket.AF_INET6, "::")):
            for port in PORTS:
                listener = socket.socket(family)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((wildcard, port))
                listener.listen(100)
                listener.setblocking(False)
                self._start(self._accept(listener))

    def _start(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            self.reached.append(f"{connection.getsockname()[0]} {connection.getsockname()[1]}")
            self._start(self._serve(connection))

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        try:
            transport, protocol = await loop.connect_accepted_socket(
                lambda: asyncio.StreamReaderProtocol(reader), connection, ssl=self._context
            )
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            await reader.readuntil(b"\r\n\r\n")
            self.posts += 1
            writer.write(self._response)
            await writer.drain()
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            connection.close()


async def _attempt(client: HttpsClient, url: str) -> str:
    """Send like the delivery worker. Return the status, or the reason of the failure."""
    try:
        response = await client.post(urls.parse_target(url), b"X: y\r\n", b"{}")
    except (urls.InvalidUrl, RequestFailed) as reason:
        return str(reason)
    return str(response.status)


async def _run(case: dict[str, Any], context: ssl.SSLContext, authority: str) -> dict[str, Any]:
    server = CatchAllServer(context, case["response"].encode())
    names = await name_server.serve(case["names"])
    server.open()
    guard = AddressPolicy(parse_networks(EVERYTHING if case["allow_all"] else ()))
    client = HttpsClient(guard, context=ssl.create_default_context(cafile=authority), seconds=3)
    results = [await _attempt(client, case["url"]) for _ in range(case["times"])]
    await asyncio.sleep(0.02)
    await client.close()
    names.close()
    for task in server._tasks:
        task.cancel()
    return {"results": results, "reached": server.reached, "posts": server.posts}


def main() -> None:
    arguments = json.load(sys.stdin)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments["certificate"], arguments["key"])
    results = [asyncio.run(_run(case, context, arguments["authority"])) for case in arguments["cases"]]
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
