"""Runs the programs of SSH sessions in containers, within the limits of their environment and of the node."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from stead.node.containers.limits import ContainerFailed
from stead.node.containers.runc import Container, Runc, new_container
from stead.node.drivers.driver import Refusal
from stead.node.hosting.environment import HostedEnvironment, WakeFailed
from stead.node.hosting.wake_budget import Needs, NoRoom, WakeBudget
from stead.node.ssh.messages import Start
from stead.node.ssh.permissions import SessionRefused
from stead.node.ssh.session_container import SFTP_SERVER, session_configuration
from stead.node.ssh.session_groups import SessionGroups
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.program_files import own_files
from stead.shared.token_bucket import TokenBuckets

PROGRAMS = 8
"""How many programs and tunnels of one environment there are at the same time."""
TUNNELS = 4
"""How many of them may be tunnels to the database. The others, and visitors, need connections as well."""
STARTS_PER_SECOND, STARTS_AT_ONCE = 2.0, 40
MAX_SECONDS = 12 * 3600.0
"""How long one program runs."""
WAIT_SECONDS = 30.0
"""How long a session waits while a job changes its environment."""
_CONNECTIONS = 2
"""How many connections to the database a session counts for."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Outcome:
    code: int
    reason: str = ""
    """What the person should know about it."""


class Sites(Protocol):
    async def plan_program(self, environment: str) -> WordPressPlan: ...

    async def wake(self, environment: str) -> HostedEnvironment: ...


@dataclass(eq=False)
class _Room:
    """A session, as the budget of the node sees it: it is never quiet, and may have to make room for tenants
    who use less than their share."""

    tenant: str
    needs: Needs
    end: Callable[[], Awaitable[None]]
    quiet_seconds: float = 0.0
    _started_at: float = field(default_factory=time.monotonic)

    @property
    def awake_seconds(self) -> float:
        return time.monotonic() - self._started_at

    async def sleep(self) -> None:
        await self.end()


class SitePrograms:
    def __init__(
        self, sites: Sites, runc: Runc, budget: WakeBudget, starts: TokenBuckets | None = None
    ) -> None:
        """`starts` limits how often each environment starts a program."""
        self._sites, self._runc, self._budget = sites, runc, budget
        self._running: Counter[str] = Counter()
        self._tunnels: Counter[str] = Counter()
        self._groups = SessionGroups()
        self._starts = starts or TokenBuckets(STARTS_PER_SECOND, STARTS_AT_ONCE)
        self._waking: set[asyncio.Task[None]] = set()

    async def plan(self, environment: str) -> WordPressPlan:
        """Also wakes the site, as a visitor would. One that does not wake can be repaired in a session."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                plan = await self._sites.plan_program(environment)
        except Refusal as refusal:
            raise SessionRefused(refusal.reason) from None
        except TimeoutError:
            raise SessionRefused("the environment is being changed by a job; try again later") from None
        task = asyncio.create_task(self._wake(environment))
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
        return plan

    async def run(
        self,
        plan: WordPressPlan,
        start: Start,
        descriptors: Sequence[int],
        *,
        on_start: Callable[[Container], Awaitable[None]],
        end: Callable[[], Awaitable[None]],
    ) -> Outcome:
        """`on_start` is called when nothing refuses it any more; `end` ends it if others
        need the room. No process is left when this returns, in whatever way."""
        if start.kind == "sftp" and not (plan.image / SFTP_SERVER.lstrip("/")).exists():
            raise SessionRefused(
                "the image of the site was made without SFTP; it gets a new one with its next job"
            )
        environment = plan.desired.environment
        with self._place(environment):
            if not self._starts.take(environment):
                raise SessionRefused("the environment starts too many sessions; try again in a minute")
            async with (
                self._room(plan, end) as leave_start,
                self._groups.enter(plan) as group,
                own_files(plan) as own,
            ):
                container = new_container(f"{plan.container.name}-", plan.paths.memory, group)
                configuration = session_configuration(own, start, container.cgroup)
                await on_start(container)
                try:
                    async with asyncio.timeout(MAX_SECONDS):
                        code = await self._runc.run_attached(
                            container, configuration, descriptors, leave_start
                        )
                except (ContainerFailed, OSError):
                    raise SessionRefused("the session could not be started") from None
                except TimeoutError:
                    raise SessionRefused("the session has lasted too long") from None
        if code and container.limit_events.killed_for_memory:
            memory_mb = plan.desired.spec.limits.memory_mb
            return Outcome(code, f"a program of the session used more than {memory_mb} MB of memory")
        return Outcome(code)

    async def send_signal(self, container: Container, name: str) -> None:
        await self._runc.send_signal(container, name)

    @contextmanager
    def tunnel(self, environment: str) -> Iterator[None]:
        """To the database."""
        reason = f"the environment already has {TUNNELS} tunnels to its database; close one of them first"
        with self._place(environment), _counted(self._tunnels, environment, TUNNELS, reason):
            yield

    def _place(self, environment: str) -> AbstractContextManager[None]:
        reason = f"the environment already has {PROGRAMS} sessions; end one of them first"
        return _counted(self._running, environment, PROGRAMS, reason)

    @asynccontextmanager
    async def _room(
        self, plan: WordPressPlan, end: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Few others start until the function is called."""
        room = _Room(plan.tenant, Needs(plan.needs.memory_mb, _CONNECTIONS), end)
        try:
            async with AsyncExitStack() as starting:
                try:
                    await starting.enter_async_context(self._budget.admit(room))
                except NoRoom:
                    reason = "the server has no room for another session now; try again later"
                    raise SessionRefused(reason) from None
                yield starting.aclose
        finally:
            self._budget.release(room)

    async def _wake(self, environment: str) -> None:
        try:
            await self._sites.wake(environment)
        except WakeFailed as failed:
            log.info("ssh.site_not_woken", environment=environment, reason=str(failed))


@contextmanager
def _counted(counter: Counter[str], environment: str, limit: int, reason: str) -> Iterator[None]:
    if counter[environment] >= limit:
        raise SessionRefused(reason)
    counter[environment] += 1
    try:
        yield
    finally:
        counter[environment] -= 1
        if not counter[environment]:
            del counter[environment]
