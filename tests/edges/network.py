"""A network of the tests' own: a bridge on this machine, and behind it namespaces that pass for machines."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from stead.dev.packages import Packages
from stead.dev.subprocesses import run
from stead.dev.supervised_program import locate_executable

TRIES = 50


@dataclass(frozen=True)
class Namespace:
    name: str
    address: str
    plug: str
    """The end of its cable at the bridge."""

    @property
    def inside(self) -> Sequence[str]:
        """What a command line begins with to run there; the process is the command's own."""
        return (_program(), "netns", "exec", self.name)

    async def unplug(self) -> None:
        await _ip("link", "set", self.plug, "down")

    async def plug_in(self) -> None:
        await _ip("link", "set", self.plug, "up")


class Network:
    """Of a range that is meant for tests of networks, so that no real one is hidden by it."""

    def __init__(self, number: int, ending: AsyncExitStack) -> None:
        self._number, self._ending = number, ending
        self._bridge = f"stead{number}"
        self._machines = 0
        self.address = f"198.18.{number}.1"

    async def lay(self) -> None:
        await _ip("link", "add", self._bridge, "type", "bridge")
        self._ending.push_async_callback(_ip, "link", "del", self._bridge)
        await _ip("address", "add", f"{self.address}/24", "dev", self._bridge)
        await _ip("link", "set", self._bridge, "up")

    async def add(self) -> Namespace:
        self._machines += 1
        made = Namespace(
            f"{self._bridge}-{self._machines}",
            f"198.18.{self._number}.{self._machines + 1}",
            f"{self._bridge}p{self._machines}",
        )
        await _ip("netns", "add", made.name)
        self._ending.push_async_callback(_ip, "netns", "del", made.name)
        away = ("peer", "name", "edge", "netns", made.name)
        await _ip("link", "add", made.plug, "type", "veth", *away)
        # The other end goes with it at once; with the namespace it would go a moment later.
        self._ending.push_async_callback(_ip, "link", "del", made.plug)
        await _ip("link", "set", made.plug, "master", self._bridge, "up")
        await _ip("-n", made.name, "address", "add", f"{made.address}/24", "dev", "edge")
        for each in ("lo", "edge"):
            await _ip("-n", made.name, "link", "set", each, "up")
        return made


@asynccontextmanager
async def network() -> AsyncIterator[Network]:
    """Whatever was made of it is gone when the block is left."""
    async with AsyncExitStack() as ending:
        yield await _laid(ending)


async def _laid(ending: AsyncExitStack) -> Network:
    """The bridge's name is the claim on its addresses: two runs cannot both have it."""
    for _ in range(TRIES):
        laid = Network(random.randint(1, 254), ending)  # noqa: S311
        try:
            await laid.lay()
        except NameTaken:
            continue
        return laid
    raise AssertionError("there is no room for another network of tests")


class NameTaken(Exception):
    pass


async def _ip(*words: str) -> None:
    done = await run([_program(), *words])
    if "File exists" in done.errors:
        raise NameTaken(done.errors)
    assert done.code == 0, f"ip {' '.join(words)}: {done.errors}"


def _program() -> str:
    return str(locate_executable("ip", Packages(debian=("iproute2",))))
