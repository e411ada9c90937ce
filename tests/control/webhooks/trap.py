"""Run inside a network namespace in which every address there is leads to this trap.

Reads cases from standard input, lets the client of deliveries at them, and prints which addresses it reached.
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
from stead.shared.addresses import Guard
from tests.control.webhooks import nameserver

PORTS = (443, 8443, 80, 3128)
EVERYTHING = ("0.0.0.0/0", "::/0")


class Trap:
    """Accepts on every address and notes which one was dialled, before a byte is exchanged."""

    def __init__(self, context: ssl.SSLContext, answer: bytes) -> None:
        self._context, self._answer = context, answer
        self.reached: list[str] = []
        self.posts = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        for family, anywhere in ((socket.AF_INET, "0.0.0." + "0"), (socket.AF_INET6, "::")):
            for port in PORTS:
                listener = socket.socket(family)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((anywhere, port))
                listener.listen(100)
                listener.setblocking(False)
                self._keep(self._accept(listener))

    def _keep(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            self.reached.append(f"{connection.getsockname()[0]} {connection.getsockname()[1]}")
            self._keep(self._serve(connection))

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
            writer.write(self._answer)
            await writer.drain()
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            connection.close()


async def _attempt(client: HttpsClient, url: str) -> str:
    """As the delivery_worker does it, with whatever stands in the row."""
    try:
        reply = await client.post(urls.parse_target(url), b"X: y\r\n", b"{}")
    except (urls.NotAnAddress, RequestFailed) as reason:
        return str(reason)
    return str(reply.status)


async def _run(case: dict[str, Any], context: ssl.SSLContext, authority: str) -> dict[str, Any]:
    trap = Trap(context, case["answer"].encode())
    names = await nameserver.serve(case["names"])
    trap.open()
    guard = Guard(parse_networks(EVERYTHING if case["open"] else ()))
    client = HttpsClient(guard, context=ssl.create_default_context(cafile=authority), seconds=3)
    said = [await _attempt(client, case["url"]) for _ in range(case["times"])]
    await asyncio.sleep(0.02)
    await client.close()
    names.close()
    for task in trap._tasks:
        task.cancel()
    return {"said": said, "reached": trap.reached, "posts": trap.posts}


def main() -> None:
    given = json.load(sys.stdin)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(given["certificate"], given["key"])
    results = [asyncio.run(_run(case, context, given["authority"])) for case in given["cases"]]
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
