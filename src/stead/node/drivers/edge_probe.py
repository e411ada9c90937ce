"""Probes sites through the edge of this node, over HTTP like a visitor."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.protocol.work.hosting import Probe

RESPONSE_SECONDS = 10.0
UNREACHABLE_SECONDS = 5.0
NOT_FOUND_SECONDS = 6.0
"""A little longer than the edge's `open_file_cache_valid`."""
_POLL_SECONDS = 0.25
_NOT_FOUND = 404
_PATH = re.compile(r"/[!-~]{0,2047}")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r\n]")


class EdgeProbe(Driver):
    """`socket` is a private socket of the edge. Requests through it pass the environment's address allowlist
    and are not redirected to HTTPS."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

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
            actual = await self._final_status(layout.check_host(host), path, wanted.release)
        except TimeoutError:
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was not answered in time") from None
        await task.output.say(f"probe: GET {path} of {host} was answered {actual}")
        if actual != status and (status is not None or not 200 <= actual < 400):
            expected = f" instead of {status}" if status is not None else ""
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered {actual}{expected}")

    async def _final_status(self, host: str, path: str, release: str) -> int:
        """A probe of a new release retries after a 404: if the file was requested before the release was
        there, the edge remembers its absence for a while."""
        until = asyncio.get_running_loop().time() + NOT_FOUND_SECONDS
        while True:
            status = await self._request(host, path, release)
            if not release or status != _NOT_FOUND or asyncio.get_running_loop().time() > until:
                return status
            await asyncio.sleep(_POLL_SECONDS)

    async def _request(self, host: str, path: str, release: str) -> int:
        """The status of the response. Retries for a moment, because the edge may be restarting."""
        until = asyncio.get_running_loop().time() + UNREACHABLE_SECONDS
        while True:
            try:
                async with asyncio.timeout(RESPONSE_SECONDS):
                    return await self._get(host, path, release)
            except (OSError, EOFError) as error:
                if isinstance(error, TimeoutError):
                    raise
                if asyncio.get_running_loop().time() > until:
                    raise Refusal("deploy.unhealthy", "the edge cannot be reached") from None
            await asyncio.sleep(_POLL_SECONDS)

    async def _get(self, host: str, path: str, release: str) -> int:
        reader, writer = await asyncio.open_unix_connection(self._socket, limit=16 * 1024)
        header = f"X-Stead-Release: {release}\r\n" if release else ""
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{header}Connection: close\r\n\r\n".encode())
            line = await reader.readuntil(b"\n")
        finally:
            writer.close()
        status = _STATUS.match(line)
        if status is None:
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was not answered with HTTP")
        return int(status[1])
