"""How many environments may be awake on a node, so that their memory and their database connections suffice.

An environment that wakes needs room. If there is none, the environment that has been idle for longest goes
to sleep first. If all are busy, a tenant that uses less than its share gets room from the one that uses most:
one tenant with many sites cannot keep the others asleep. Whoever gets no room in time is told to come back.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import structlog

from stead.node.containers.limits import ContainerFailed

STARTS_AT_ONCE = 4
WAIT_SECONDS = 20.0
"""How long a visitor waits for room."""
RETRY_AFTER_SECONDS = 10
CALM_SECONDS = 5.0
"""An environment is not put to sleep for another one sooner after it was last active."""
LEAST_AWAKE_SECONDS = 15.0
"""How long a busy environment is left awake before it may have to make room."""
LOOK_SECONDS = 0.5
LEAST_AVAILABLE_MB = 512
"""With less memory available on the machine, nothing wakes before something else sleeps."""

log = structlog.get_logger()


class NoRoom(ContainerFailed):
    """The node has no room for another environment that is awake."""


@dataclass(frozen=True)
class Needs:
    """What an environment that is awake counts for."""

    memory_mb: int = 0
    connections: int = 0
    """To the database."""

    def __add__(self, other: "Needs") -> "Needs":
        return Needs(self.memory_mb + other.memory_mb, self.connections + other.connections)

    def __sub__(self, other: "Needs") -> "Needs":
        return Needs(self.memory_mb - other.memory_mb, self.connections - other.connections)

    def fits(self, limit: "Needs") -> bool:
        return self.memory_mb <= limit.memory_mb and self.connections <= limit.connections


NOTHING = Needs()
UNLIMITED = Needs(memory_mb=1 << 40, connections=1 << 40)


class Sleeper(Protocol):
    """An environment, as the budget sees it."""

    @property
    def tenant(self) -> str: ...

    @property
    def needs(self) -> Needs: ...

    @property
    def quiet_seconds(self) -> float:
        """How long nothing has happened in it; 0 while something happens."""

    @property
    def awake_seconds(self) -> float: ...

    async def sleep(self) -> None: ...


@dataclass(eq=False)
class _Waiting:
    environment: Sleeper
    number: int
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


def available_mb() -> int:
    """How much memory the kernel could give to processes."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return LEAST_AVAILABLE_MB


class WakeBudget:
    def __init__(
        self,
        limit: Needs = UNLIMITED,
        *,
        starts_at_once: int = STARTS_AT_ONCE,
        wait_seconds: float = WAIT_SECONDS,
        available: Callable[[], int] = available_mb,
    ) -> None:
        self._limit, self.wait_seconds, self._available = limit, wait_seconds, available
        self._starts = asyncio.Semaphore(starts_at_once)
        self._awake: dict[Sleeper, Needs] = {}
        self._ending: set[Sleeper] = set()
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def used(self) -> Needs:
        return _total(self._awake.values())

    def hold(self, environment: Sleeper) -> None:
        """Its container runs, however that came about."""
        self._awake[environment] = environment.needs

    def release(self, environment: Sleeper) -> None:
        """Its container does not run any more."""
        if self._awake.pop(environment, None) is not None:
            self._grant()

    @asynccontextmanager
    async def admit(self, environment: Sleeper) -> AsyncIterator[None]:
        """Wait for room, and until few others are starting. The room is kept when the block succeeds. Raises
        NoRoom. An environment that has room keeps it, as in a restart."""
        if environment not in self._awake:
            await self._wait_for_room(environment)
        try:
            async with self._starts:
                yield
        except BaseException:
            self.release(environment)
            raise

    def relieve(self) -> None:
        """Put idle environments to sleep while more are awake than there is room for: a new agent may have
        found them so, or other programs may use the memory."""
        if not self._waiting and not self._has_room(NOTHING):
            self._make_room(None, NOTHING)

    async def _wait_for_room(self, environment: Sleeper) -> None:
        waiting = _Waiting(environment, next(self._numbers))
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            self._spawn(self._look_again())
        self._grant()
        try:
            async with asyncio.timeout(self.wait_seconds):
                await asyncio.shield(waiting.granted)
        except TimeoutError:
            if not waiting.granted.done():
                log.warning("environment.no_room", tenant=environment.tenant, awake=len(self._awake))
                raise NoRoom("too many environments of the node are in use") from None
        except BaseException:
            if waiting.granted.done():
                self.release(environment)
            raise
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def _look_again(self) -> None:
        """Environments become idle without telling."""
        while self._waiting:
            await asyncio.sleep(LOOK_SECONDS)
            self._grant()

    def _grant(self) -> None:
        """Give room to those that wait: first to the tenant that uses least of it, then in order."""
        while self._waiting:
            tenants = {each.environment.tenant for each in self._waiting}
            shares = {tenant: self._share(tenant) for tenant in tenants}
            first = min(self._waiting, key=partial(_turn, shares))
            needs = first.environment.needs
            if not self._has_room(needs):
                self._make_room(first.environment, needs)
                return
            self._waiting.remove(first)
            self._awake[first.environment] = needs
            first.granted.set_result(None)

    def _has_room(self, needs: Needs) -> bool:
        """One environment may be awake, however much it needs."""
        if not self._awake:
            return True
        return (self.used + needs).fits(self._limit) and self._available() >= LEAST_AVAILABLE_MB

    def _make_room(self, environment: Sleeper | None, needs: Needs) -> None:
        """Put one environment to sleep, unless those that are going to sleep already make enough room."""
        ending = _total(self._awake[each] for each in self._ending if each in self._awake)
        if self._ending and (self.used - ending + needs).fits(self._limit):
            return
        victim = self._choose_idle() or (environment and self._choose_busy(environment))
        if victim is not None:
            self._ending.add(victim)
            self._spawn(self._put_to_sleep(victim))

    def _choose_idle(self) -> Sleeper | None:
        idle = [each for each in self._candidates() if each.quiet_seconds >= CALM_SECONDS]
        return max(idle, key=lambda each: each.quiet_seconds, default=None)

    def _choose_busy(self, environment: Sleeper) -> Sleeper | None:
        """Of the tenant that uses most, if the environment's tenant uses less than its share. Its requests
        are finished first; new ones wait until it wakes again."""
        tenants = {each.tenant for each in self._awake} | {each.environment.tenant for each in self._waiting}
        largest = max(tenants, key=self._share)
        fair = 1 / len(tenants)
        if self._share(environment.tenant, environment.needs) > fair or self._share(largest) <= fair:
            return None
        busy = [
            each
            for each in self._candidates()
            if each.tenant == largest and each.awake_seconds >= LEAST_AWAKE_SECONDS
        ]
        return max(busy, key=lambda each: each.awake_seconds, default=None)

    def _candidates(self) -> list[Sleeper]:
        return [each for each in self._awake if each not in self._ending]

    def _share(self, tenant: str, more: Needs = NOTHING) -> float:
        """Which part of the room the tenant uses, or would use with more."""
        used = _total(needs for each, needs in self._awake.items() if each.tenant == tenant) + more
        return max(used.memory_mb / self._limit.memory_mb, used.connections / self._limit.connections)

    async def _put_to_sleep(self, environment: Sleeper) -> None:
        try:
            await environment.sleep()
            log.info("environment.made_room", tenant=environment.tenant)
        except (ContainerFailed, OSError, TimeoutError) as error:
            log.warning("environment.unmanageable", error=type(error).__name__)
        finally:
            self._ending.discard(environment)
            self._grant()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _turn(shares: Mapping[str, float], waiting: _Waiting) -> tuple[float, int]:
    return shares[waiting.environment.tenant], waiting.number


def _total(all_needs: Iterable[Needs]) -> Needs:
    return sum(all_needs, start=NOTHING)
