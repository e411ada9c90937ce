"""The edge: an nginx that serves `hosts/<host>/` for whichever host is asked for, so a route is a link and a
change of routes needs no reload."""

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path

from stead.node.drivers import layout
from stead.node.drivers.ports import Assignment, Refusal
from stead.node.uninterrupted import in_thread

ANSWER_BOUND = 10.0
UNREACHABLE_BOUND = 5.0
_POLL = 0.25
_PATH = re.compile(r"/[!-~]{0,2047}")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r\n]")


class NginxEdge:
    def __init__(self, data: Path, address: tuple[str, int]) -> None:
        self._data, self._address = data, address
        self._hosts = layout.hosts(data)
        self._hosts.mkdir(parents=True, exist_ok=True)
        # Whatever the umask: nginx's workers are another user.
        self._hosts.chmod(0o755)
        self._changing = asyncio.Lock()

    async def ensure_route(self, task: Assignment, hosts: Sequence[str]) -> None:
        wanted = {layout.host(host) for host in hosts}
        environment = layout.identifier(task.environment)
        async with self._changing:
            await in_thread(self._ensure, environment, wanted)

    async def remove_route(self, task: Assignment) -> None:
        environment = layout.identifier(task.environment)
        async with self._changing:
            await in_thread(self._ensure, environment, set())

    async def probe(self, task: Assignment, host: str, path: str) -> None:
        if _PATH.fullmatch(path) is None:
            raise Refusal("probe.malformed", "a path begins with / and has no spaces")
        try:
            status = await self._ask(layout.host(host), path)
        except TimeoutError:
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was not answered in time") from None
        await task.output.say(f"probe: GET {path} of {host} was answered {status}")
        if not 200 <= status < 400:
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered {status}")

    def _ensure(self, environment: str, wanted: set[str]) -> None:
        for host in sorted(wanted):
            if self._owner(host) not in {None, environment}:
                raise Refusal("route.taken", f"{host} is answered by another environment")
        for host in wanted:
            if self._owner(host) is None:
                (self._hosts / host).symlink_to(_target(environment))
        for host in layout.listed(self._hosts):
            if host not in wanted and self._owner(host) == environment:
                (self._hosts / host).unlink()
        layout.sync(self._hosts)

    def _owner(self, host: str) -> str | None:
        try:
            return (self._hosts / host).readlink().parent.name
        except FileNotFoundError:
            return None

    async def _ask(self, host: str, path: str) -> int:
        """The status of the answer. An edge that is being restarted is given a moment."""
        until = asyncio.get_running_loop().time() + UNREACHABLE_BOUND
        while True:
            try:
                async with asyncio.timeout(ANSWER_BOUND):
                    return await _get(self._address, host, path)
            except (OSError, EOFError) as error:
                if isinstance(error, TimeoutError):
                    raise
                if asyncio.get_running_loop().time() > until:
                    raise Refusal("deploy.unhealthy", "the edge cannot be reached") from None
            await asyncio.sleep(_POLL)


def _target(environment: str) -> Path:
    """The link leads to a link: which release is current is the runtime's business."""
    return Path(os.pardir) / "environments" / environment / "current"


async def _get(address: tuple[str, int], host: str, path: str) -> int:
    reader, writer = await asyncio.open_connection(*address, limit=16 * 1024)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        line = await reader.readuntil(b"\n")
    finally:
        writer.close()
    status = _STATUS.match(line)
    if status is None:
        raise Refusal("deploy.unhealthy", f"GET {path} of {host} was not answered with HTTP")
    return int(status[1])
