"""A visitor of the sites over HTTPS, who trusts only the certificate authority of the stack."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_hex

import httpx

from stead.dev.engines.pebble import Pebble
from stead.dev.stack import Stack
from stead.dev.supervised_program import LOOPBACK
from tests.patience import time_limit

PAUSE_SECONDS = 0.01
"""Between two requests of a visitor. A fast machine would send more than an address may, 200 a second."""


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: httpx.Headers


class Visitor:
    def __init__(self, stack: Stack, trust: ssl.SSLContext) -> None:
        self._stack, self._trust = stack, trust

    @classmethod
    async def of(cls, stack: Stack) -> "Visitor":
        """A visitor with the root certificate of that authority."""
        management = ssl.create_default_context(cafile=str(stack[Pebble].server_certificate))
        async with httpx.AsyncClient(verify=management, timeout=60.0) as client:
            root = (await client.get(stack[Pebble].roots_url)).text
        return cls(stack, ssl.create_default_context(cadata=root))

    async def get(self, host: str, path: str = "/", *, secure: bool = True) -> Answer:
        """Request a page by its host name; the connection goes to this machine."""
        port = self._stack.ports["edge_tls" if secure else "edge"]
        url = f"http{'s' if secure else ''}://{LOOPBACK}:{port}{path}"
        async with httpx.AsyncClient(verify=self._trust, timeout=60) as client:
            seen = await client.get(url, headers={"host": host}, extensions={"sni_hostname": host})
        return Answer(seen.status_code, seen.text, seen.headers)

    def browser(self, host: str) -> httpx.AsyncClient:
        """Keeps its cookies, and asks one host."""
        port = self._stack.ports["edge_tls"]
        client = httpx.AsyncClient(
            base_url=f"https://{LOOPBACK}:{port}",
            verify=self._trust,
            headers={"host": host},
            cookies={"wordpress_test_cookie": "WP%20Cookie%20check"},
            timeout=60,
        )

        async def name_host(request: httpx.Request) -> None:
            request.extensions["sni_hostname"] = host

        client.event_hooks["request"] = [name_host]
        return client

    @asynccontextmanager
    async def visiting(self, host: str) -> AsyncIterator[list[Answer]]:
        """Requests one after the other, until the end of the block; the answers. None comes from a cache."""
        seen: list[Answer] = []
        name = token_hex(4)
        ended = asyncio.Event()

        async def visit() -> None:
            async with self.browser(host) as browser:
                while not ended.is_set():
                    page = await browser.get(f"/?visit={name}-{len(seen)}")
                    seen.append(Answer(page.status_code, page.text, page.headers))
                    await asyncio.sleep(PAUSE_SECONDS)

        visits = asyncio.create_task(visit())
        try:
            yield seen
        finally:
            ended.set()
            await asyncio.wait({visits})
        visits.result()

    async def until(self, host: str, text: str, path: str = "/", *, within: float = 60.0) -> Answer:
        """Read until the text is on the page. Before that, handshakes fail without a certificate."""
        seen: object = None
        try:
            async with time_limit(within):
                while True:
                    try:
                        seen = answer = await self.get(host, path)
                    except httpx.ConnectError as error:
                        seen = error
                    else:
                        if text in answer.text:
                            return answer
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"{host}{path} did not show {text!r} within {within:g} s: {seen}") from None
