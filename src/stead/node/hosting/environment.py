"""One environment with a container: it sleeps until a visitor comes, wakes once for all of them, and sleeps
again when nothing happens in it.

The agent listens on the environment's socket and passes it to the container. While the environment sleeps,
the first connection wakes it; connections wait in the queue of the socket. A container that died is treated
as one that sleeps, but not started again at once if it dies again and again.
"""

import asyncio
import math
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import structlog

from stead.node.containers import cgroups
from stead.node.containers.limits import ContainerFailed
from stead.node.containers.services import ServiceContainer, Services, end_gracefully
from stead.node.hosting.listening_socket import (
    connect_and_close,
    has_waiting,
    open_socket,
    refuse_waiting,
)
from stead.node.hosting.wake_budget import Needs, NoRoom, WakeBudget
from stead.node.process_end import wait_until_ended
from stead.node.uninterrupted import run_uninterrupted

GRACE_SECONDS = 30.0
"""How long a container may take to finish its requests before its processes are killed."""
SHORT_LIFE_SECONDS = 20.0
"""A container that dies sooner has failed to start."""
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
NUDGE_SECONDS = 0.2
UNVISITED_SECONDS = 120.0
"""How long an environment stays awake that the node itself has woken. Visits are known after a minute."""

log = structlog.get_logger()

State = Literal["asleep", "awake", "suspended", "failing"]


class WakeFailed(ContainerFailed):
    """The environment cannot be started now; the message says why."""


class NodeBusy(WakeFailed):
    """The environment may start later: too many others of the node are in use."""


class EnvironmentPlan(Protocol):
    """What a runtime knows about one of its environments."""

    @property
    def container(self) -> ServiceContainer: ...

    @property
    def socket(self) -> Path:
        """Where the edge connects."""

    @property
    def quiet_processes(self) -> int:
        """How many processes the container has when it does nothing."""

    @property
    def workers(self) -> int:
        """How many requests the container handles at the same time."""

    @property
    def tenant(self) -> str:
        """Who owns the site."""

    @property
    def needs(self) -> Needs:
        """What it counts for while it is awake."""

    @property
    def busy_response(self) -> bytes:
        """What a visitor gets on the socket when the node has no room: in the protocol of the socket."""

    async def prepare(self) -> Mapping[str, object]:
        """Make everything that the container needs, and return its configuration."""


class HostedEnvironment:
    def __init__(
        self,
        plan: EnvironmentPlan,
        services: Services,
        budget: WakeBudget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`budget` limits how many environments of the node are awake, and start at the same time."""
        self.plan, self._services, self._budget, self._clock = plan, services, budget, clock
        self._changing = asyncio.Lock()
        self._listening: socket.socket | None = None
        """None while a container that an earlier agent started has the only copy."""
        self._pid: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._suspended = False
        self._started_at = self._last_active = 0.0
        self._failures, self._not_before = 0, 0.0
        self._uses, self._unvisited = 0, False

    @property
    def state(self) -> State:
        if self._suspended:
            return "suspended"
        if self._pid is not None:
            return "awake"
        return "failing" if self._failures else "asleep"

    @property
    def idle_seconds(self) -> float:
        return self._clock() - self._last_active

    @property
    def tenant(self) -> str:
        return self.plan.tenant

    @property
    def needs(self) -> Needs:
        return self.plan.needs

    @property
    def quiet_seconds(self) -> float:
        """0 while it does something."""
        return 0.0 if self._is_working() else self.idle_seconds

    @property
    def awake_seconds(self) -> float:
        return self._clock() - self._started_at

    async def open(self, *, suspended: bool = False) -> None:
        """Adopt the container if it runs, and otherwise wait for visitors."""
        self._suspended = suspended
        pid = await self._services.find(self.plan.container)
        if pid is not None and not suspended:
            self._watch(pid, started_at=-math.inf)
            log.info("environment.adopted", container=self.plan.container.name)
            return
        await self._services.remove(self.plan.container)
        self._wait_for_visitors()

    async def close(self) -> None:
        """Stop watching. A running container continues to serve."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._stop_listening()

    async def end(self) -> None:
        """End the container at once; nobody waits for visitors any more."""
        async with self._changing:
            await self._end_container(signal.SIGKILL)
            self._stop_waiting()

    async def remove(self) -> None:
        """End the container, and stop listening for good."""
        async with self._changing:
            await self._end_container(signal.SIGKILL)
            self._suspended = True
            self._stop_listening()
            self.plan.socket.unlink(missing_ok=True)

    async def wake(self) -> None:
        """Return when the container runs. However many callers there are, it is started once. Raises
        WakeFailed, or NodeBusy."""
        async with self._changing:
            if self._suspended:
                raise WakeFailed("the environment is suspended")
            if self._pid is not None:
                return
            if self._clock() < self._not_before:
                raise WakeFailed("the environment fails to start, and the next attempt is not yet due")
            await self._start_within_budget()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Keep it awake for work of the node itself. Afterwards it sleeps soon, unless it was visited. Raises
        WakeFailed, or NodeBusy."""
        self._uses += 1
        try:
            was_asleep = self._pid is None
            await self.wake()
            self._unvisited = self._unvisited or was_asleep
            yield
        finally:
            self._uses -= 1

    async def sleep(self) -> None:
        """End the container. Visitors wake it again."""
        async with self._changing:
            try:
                await self._end_container(signal.SIGQUIT)
            finally:
                self._wait_for_visitors()

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """End the container. Requests that come meanwhile wait. Afterwards visitors wake it again."""
        async with self._changing:
            try:
                self._stop_waiting()
                await self._end_container(signal.SIGQUIT)
                yield
            finally:
                self._wait_for_visitors()

    async def renew(self) -> None:
        """Replace the container if it was started for something else than the plan says. One that a visitor
        starts at this moment uses the files that this prepares, so it comes first."""
        async with self._changing:
            if self._pid is None:
                return
            configuration = await self.plan.prepare()
            if not self._services.has(self.plan.container, configuration):
                await self._replace()

    async def restart(self) -> None:
        """Replace the container. Requests that come meanwhile wait."""
        async with self._changing:
            await self._replace()

    async def _replace(self) -> None:
        if self._suspended:
            raise WakeFailed("the environment is suspended")
        try:
            await self._end_container(signal.SIGQUIT, keep_room=True)
            self._failures, self._not_before = 0, 0.0
            await self._start_within_budget()
        finally:
            if self._pid is None:
                self._budget.release(self)
                self._wait_for_visitors()

    async def suspend(self) -> None:
        """End the container and refuse visitors until `resume`."""
        async with self._changing:
            self._suspended = True
            try:
                await self._end_container(signal.SIGQUIT)
            finally:
                self._wait_for_visitors()

    def resume(self) -> None:
        self._suspended = False

    async def sleep_if_idle(self, seconds: float, visited_ago: float | None = None) -> bool:
        """Whether it was put to sleep, because nothing has happened in it for so long.

        If it is known when it was last visited, only visits count: a process in the background keeps no
        environment awake, in particular not one that was deleted.
        """
        if self._pid is None or self._uses:
            return False
        if visited_ago is not None:
            visited_at = self._clock() - visited_ago
            self._unvisited = self._unvisited and visited_at < self._started_at
            self._last_active = max(self._started_at, visited_at)
        elif self._is_working():
            self._last_active = self._clock()
        if self.idle_seconds < (min(seconds, UNVISITED_SECONDS) if self._unvisited else seconds):
            return False
        await self.sleep()
        return True

    def _is_working(self) -> bool:
        return bool(self._uses) or (
            len(cgroups.processes(self.plan.container.cgroup)) > self.plan.quiet_processes
        )

    async def _start_within_budget(self) -> None:
        try:
            async with self._budget.admit(self):
                await self._start()
        except NoRoom as error:
            raise NodeBusy(str(error)) from None

    async def _start(self) -> None:
        if self._listening is None:
            self._listening = open_socket(self.plan.socket)
        self._stop_waiting()
        try:
            configuration = await self.plan.prepare()
            pid = await self._services.start(self.plan.container, configuration, self._listening)
            self._watch(pid, started_at=self._clock())
            self._spawn(self._nudge(pid))
        except (ContainerFailed, OSError) as error:
            self._note_failure(str(error))
            raise WakeFailed(str(error)) from None
        finally:
            # Failed or cancelled: nothing runs, and the next visitor may wake it.
            if self._pid is None:
                self._wait_for_visitors()

    async def _nudge(self, pid: int) -> None:
        """Connect once for each worker while visitors still wait: PHP-FPM starts a worker for each connection
        that it sees coming, and those that waited before it started count as one."""
        for _ in range(self.plan.workers):
            await asyncio.sleep(NUDGE_SECONDS)
            if self._pid != pid or self._listening is None or not has_waiting(self._listening):
                return
            connect_and_close(self.plan.socket)

    def _watch(self, pid: int, *, started_at: float) -> None:
        self._pid, self._started_at, self._last_active = pid, started_at, self._clock()
        self._budget.hold(self)
        self._unvisited = False
        self._spawn(self._wait_for_end(pid))

    async def _wait_for_end(self, pid: int) -> None:
        await wait_until_ended(pid)
        async with self._changing:
            if self._pid != pid:
                return
            self._pid = None
            if self._clock() - self._started_at < SHORT_LIFE_SECONDS:
                self._note_failure("its first process ended")
            else:
                self._failures = 0
                log.warning("environment.died", container=self.plan.container.name)
            # Visitors can connect again at once; they wait until the container has been cleared away.
            self._wait_for_visitors()
            try:
                await self._services.remove(self.plan.container)
            finally:
                self._budget.release(self)

    async def _end_container(self, number: signal.Signals, *, keep_room: bool = False) -> None:
        """`keep_room` for a container that is replaced."""
        pid, self._pid = self._pid, None
        if self._listening is None and pid is not None:
            # From now on new connections wait here. The container has the socket of an earlier agent.
            self._listening = open_socket(self.plan.socket)
        try:
            if pid is not None:
                await end_gracefully(pid, number, GRACE_SECONDS)
        finally:
            try:
                # Also when this is cancelled: nobody watches the container any more.
                await run_uninterrupted(self._services.remove(self.plan.container))
            finally:
                if not keep_room:
                    self._budget.release(self)

    def _note_failure(self, reason: str) -> None:
        self._failures += 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1), MAX_PAUSE_SECONDS)
        self._not_before = self._clock() + pause
        name = self.plan.container.name
        log.warning("environment.failed", container=name, reason=reason, failures=self._failures)

    def _wait_for_visitors(self) -> None:
        if self._listening is None:
            self._listening = open_socket(self.plan.socket)
        asyncio.get_running_loop().add_reader(self._listening, self._on_visitor)

    def _stop_waiting(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)

    def _stop_listening(self) -> None:
        self._stop_waiting()
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def _on_visitor(self) -> None:
        self._stop_waiting()
        self._spawn(self._answer_visitors())

    async def _answer_visitors(self) -> None:
        try:
            await self.wake()
        except Exception as error:  # noqa: BLE001 - whatever happens, the environment must not stay deaf
            if not isinstance(error, WakeFailed):
                self._note_failure(type(error).__name__)
            if self._listening is not None:
                busy = isinstance(error, NodeBusy)
                refuse_waiting(self._listening, self.plan.busy_response if busy else b"")
                self._wait_for_visitors()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
