"""The edge of this node, asked as a visitor asks: over HTTP, through everything that stands before a site."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.protocol.work import Probe

ANSWER_BOUND = 10.0
UNREACHABLE_BOUND = 5.0
ABSENCE_BELIEVED = 6.0
"""A little longer than the edge's `open_file_cache_valid`."""
_POLL = 0.25
_NOT_FOUND = 404
_PATH = re.compile(r"/[!-~]{0,2047}")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r\n]")


class EdgeProbe(Driver):
    """`door` is a socket of the edge's that only this node can open: who comes that way is let in whatever
    addresses an environment allows, and is not sent to HTTPS first."""

    def __init__(self, door: Path) -> None:
        self._door = door

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Probe, self.probe)]

    async def probe(self, task: Assignment, wanted: Probe) -> None:
        host, path, status = wanted.host, wanted.path, wanted.status
        if _PATH.fullmatch(path) is None:
            raise Refusal("probe.malformed", "a path begins with / and has no spaces")
        if wanted.release and layout.RELEASE.fullmatch(wanted.release) is None:
            raise Refusal("probe.malformed", "a release is named by 64 hexadecimal digits")
        try:
            seen = await self._settled(layout.check_host(host), path, wanted.release)
        except TimeoutError:
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was not answered in time") from None
        await task.output.say(f"probe: GET {path} of {host} was answered {seen}")
        if seen != status and (status is not None or not 200 <= seen < 400):
            hoped = f" instead of {status}" if status is not None else ""
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered {seen}{hoped}")

    async def _settled(self, host: str, path: str, release: str) -> int:
        """A release may just have come where somebody looked for it in vain: the edge believes that for a
        while, so only what it does not find after that is not there."""
        until = asyncio.get_running_loop().time() + ABSENCE_BELIEVED
        while True:
            seen = await self._ask(host, path, release)
            if not release or seen != _NOT_FOUND or asyncio.get_running_loop().time() > until:
                return seen
            await asyncio.sleep(_POLL)

    async def _ask(self, host: str, path: str, release: str) -> int:
        """The status of the answer. An edge that is being restarted is given a moment."""
        until = asyncio.get_running_loop().time() + UNREACHABLE_BOUND
        while True:
            try:
                async with asyncio.timeout(ANSWER_BOUND):
                    return await self._get(host, path, release)
            except (OSError, EOFError) as error:
                if isinstance(error, TimeoutError):
                    raise
                if asyncio.get_running_loop().time() > until:
                    raise Refusal("deploy.unhealthy", "the edge cannot be reached") from None
            await asyncio.sleep(_POLL)

    async def _get(self, host: str, path: str, release: str) -> int:
        reader, writer = await asyncio.open_unix_connection(self._door, limit=16 * 1024)
        shown = f"X-Stead-Release: {release}\r\n" if release else ""
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{shown}Connection: close\r\n\r\n".encode())
            line = await reader.readuntil(b"\n")
        finally:
            writer.close()
        status = _STATUS.match(line)
        if status is None:
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was not answered with HTTP")
        return int(status[1])
