"""A visitor of the sites: over HTTPS, trusting the authority of the stack and nobody else."""

import asyncio
import ssl
from dataclasses import dataclass

import httpx

from stead.dev.engines.pebble import Pebble
from stead.dev.running_stack import RunningStack
from stead.dev.supervised_program import LOOPBACK


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: httpx.Headers


class Visitor:
    def __init__(self, stack: RunningStack, trust: ssl.SSLContext) -> None:
        self._stack, self._trust = stack, trust

    @classmethod
    async def of(cls, stack: RunningStack) -> "Visitor":
        """One who has the root that issued the sites' certificates."""
        management = ssl.create_default_context(cafile=str(stack[Pebble].server_certificate))
        async with httpx.AsyncClient(verify=management) as client:
            root = (await client.get(stack[Pebble].roots_url)).text
        return cls(stack, ssl.create_default_context(cadata=root))

    async def get(self, host: str, path: str = "/", *, secure: bool = True) -> Answer:
        """By the name that visitors type; where it leads is this machine."""
        port = self._stack.ports["edge_tls" if secure else "edge"]
        url = f"http{'s' if secure else ''}://{LOOPBACK}:{port}{path}"
        async with httpx.AsyncClient(verify=self._trust) as client:
            seen = await client.get(url, headers={"host": host}, extensions={"sni_hostname": host})
        return Answer(seen.status_code, seen.text, seen.headers)

    async def until(self, host: str, text: str, path: str = "/", *, within: float = 60.0) -> Answer:
        """Reads until that is on the page; handshakes that fail until then are for want of a certificate."""
        seen: object = None
        try:
            async with asyncio.timeout(within):
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
