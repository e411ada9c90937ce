"""Serves the versions of functions: a socket for each, processes while there are requests.

The host owns the socket, so requests wait in its queue while a process is starting. Idle processes end by
themselves; a process that handles a request for longer than it may is killed, whatever it does.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import structlog
from msgspec.structs import replace

from stead.node.functions import places
from stead.node.functions.body_room import BodyRoom
from stead.node.functions.capacity import Capacity, RunningWorker
from stead.node.functions.container import user_of
from stead.node.functions.processes import FunctionProcess, FunctionProcesses, ProcessEnded
from stead.node.functions.sandbox.exchange import refuse
from stead.node.functions.sandbox.guest_kinds import is_component
from stead.node.functions.spec import FunctionSpec
from stead.node.hosting.listening_socket import has_waiting, open_socket, refuse_waiting

WORKERS_PER_VERSION = 4
"""How many requests of a version are handled at the same time. More wait."""
CHECK_SECONDS = 0.05
LOOKS_PER_CHECK = 4
"""How often the versions of a tenant that wait look for room in this time, all together. One program looks at
the processes of all tenants."""
BUSY_NANOSECONDS = 10_000_000
"""A version gets another process when all of its processes have been busy for this long and a request
waits."""
WORKERS_PER_SITE = 32
"""How many processes the functions of a site have together."""
SITE_MEMORY_MB = 2048
"""How much memory the processes of a site may use together, if all use what they may."""
READY_SECONDS = 30.0
COMPILE_SECONDS = 420.0
RETRY_SECONDS = 1.0

log = structlog.get_logger()


class FunctionRefused(Exception):
    """The version cannot be served; the message says why."""


Answer = Callable[[FunctionSpec, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers what a function asks its host."""
Report = Callable[[FunctionSpec, dict[str, Any]], None]
"""Receives the log of a request, and the reason if it failed."""


class ServedVersion:
    """One version. `variables` contains its secrets, so it is kept in memory only."""

    def __init__(self, spec: FunctionSpec, variables: dict[str, str], slot: int, data: Path) -> None:
        self.spec, self.variables, self._data = spec, variables, data
        self.uid = user_of(slot)
        self.listening = open_socket(places.socket_of(data, spec.version))
        self.workers: dict[int, FunctionProcess] = {}
        self.starting = 0
        self.retry_at = 0.0
        self.last_used = time.monotonic()

    def settings(self) -> dict[str, Any]:
        return _settings(self.spec, self.variables)

    def is_short_of_workers(self, now: int) -> bool:
        """Whether a request waits and no process will take it soon."""
        if self.starting or len(self.workers) >= WORKERS_PER_VERSION or not has_waiting(self.listening):
            return False
        return all(now - began > BUSY_NANOSECONDS for began in self._busy_since())

    def _busy_since(self) -> list[int]:
        """For an idle process, the current time: it has just been given a request, or will be."""
        now = time.monotonic_ns()
        activities = [worker.activity for worker in self.workers.values() if worker.activity]
        return [activity.read()[0] or now for activity in activities]

    @property
    def is_closed(self) -> bool:
        return self.listening.fileno() < 0

    def unwatch(self) -> None:
        if not self.is_closed:
            asyncio.get_running_loop().remove_reader(self.listening)

    def close(self) -> None:
        self.unwatch()
        refuse_waiting(self.listening)
        self.listening.close()
        places.socket_of(self._data, self.spec.version).unlink(missing_ok=True)


class Serving:
    def __init__(
        self,
        data: Path,
        answer: Answer,
        report: Report,
        *,
        most_workers: int,
        site_memory_mb: int = SITE_MEMORY_MB,
        room: BodyRoom | None = None,
    ) -> None:
        self._data, self._answer, self._report = data, answer, report
        self._capacity = Capacity(most_workers, min(WORKERS_PER_SITE, most_workers), site_memory_mb)
        self._room = room or BodyRoom()
        self._versions: dict[str, ServedVersion] = {}
        self._running: set[ServedVersion] = set()
        """Those with processes, also those that were replaced by others with the same version."""
        self._starting: list[ServedVersion] = []
        """Those that a process is starting of, which may take long."""
        self._waiting: Counter[str] = Counter()
        """How many versions of each tenant wait for room."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.processes: FunctionProcesses | None = None

    @property
    def versions(self) -> list[str]:
        return list(self._versions)

    def find_active(self, function: str, site: str) -> FunctionSpec | None:
        """The version of a function that other functions of its site call."""
        for served in self._versions.values():
            spec = served.spec
            if spec.function == function and spec.site == site and spec.active:
                return spec
        return None

    def serve(self, spec: FunctionSpec, variables: dict[str, str], slot: int) -> None:
        """Accept requests for the version from now on. Processes that run with other settings are replaced
        when they are idle."""
        known = self._versions.get(spec.version)
        if known is not None and known.settings() == _settings(spec, variables):
            known.spec = spec
            return
        self._versions[spec.version] = served = ServedVersion(spec, variables, slot, self._data)
        self._watch(served)
        if known is not None:
            known.unwatch()
            # Its processes finish what waits on the former socket, and are ended when they are idle.
            if not known.workers:
                known.listening.close()

    def set_active(self, version: str, *, active: bool) -> None:
        """Nothing changes for the processes of the version."""
        served = self._versions.get(version)
        if served is not None:
            served.spec = replace(served.spec, active=active)

    def withdraw(self, version: str) -> None:
        served = self._versions.pop(version, None)
        if served is not None:
            served.close()
            for worker in list(served.workers.values()):
                self._processes.kill(worker)

    def close(self) -> None:
        for version in self.versions:
            self.withdraw(version)

    async def compile(self, spec: FunctionSpec, slot: int) -> None:
        """Compile the function, unless that was done before. Raises FunctionRefused."""
        target = places.compiled(self._data, spec.version)
        if target.exists():
            return
        fresh = target.with_name(f".{target.name}")
        try:
            await self._compile(places.module_file(self._data, spec.release), fresh, slot)
            # Its processes get a descriptor of the file; nobody else can enter the directory.
            fresh.chmod(0o444)
            fresh.rename(target)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise

    async def _compile(self, source: Path, fresh: Path, slot: int) -> None:
        with source.open("rb") as module, fresh.open("wb") as made:
            process = await self._processes.start_compiler(user_of(slot), module.fileno(), made.fileno())
        try:
            async with asyncio.timeout(COMPILE_SECONDS):
                report = await process.receive()
        except (ProcessEnded, TimeoutError):
            raise FunctionRefused("the compiler ran out of time or memory") from None
        finally:
            self._end(process)
        if "failed" in report:
            raise FunctionRefused(f"it is not a valid function: {report.get('detail', '')}")

    async def probe(self, version: str) -> None:
        """Start a process, which is ready when the function could be instantiated. Raises FunctionRefused."""
        served = self._versions[version]
        if not served.workers:
            await self._wait_for_room(served)
            await self._start_worker(served)

    async def run(self) -> None:
        """Watch the processes until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now, refused = time.monotonic_ns(), dict[str, int]()
            for served in list(self._running):
                for worker in list(served.workers.values()):
                    self._check_overrun(served, worker, now)
                if self._is_current(served):
                    if served.is_short_of_workers(now) and self._has_room_now(served, refused):
                        self._begin_worker(served)
                elif served.is_closed or not has_waiting(served.listening):
                    self._end_idle_workers(served)

    def _has_room_now(self, served: ServedVersion, refused: dict[str, int]) -> bool:
        """`refused` says how much memory was too much for a site a moment ago, so that it is asked once for
        all its versions."""
        spec = served.spec
        if spec.site in refused and spec.memory_mb >= refused[spec.site]:
            return False
        if self._make_room(served):
            return True
        refused[spec.site] = spec.memory_mb
        return False

    async def forget_workers(self) -> None:
        """The container has ended, and all processes with it."""
        for served in self._versions.values():
            served.workers.clear()
            served.starting = 0
            self._watch(served)
        self._running.clear()

    @property
    def _processes(self) -> FunctionProcesses:
        assert self.processes is not None  # noqa: S101
        return self.processes

    def _check_overrun(self, served: ServedVersion, worker: FunctionProcess, now: int) -> None:
        if worker.activity is None or worker.is_killed:
            return
        _, until = worker.activity.read()
        if until and now > until:
            log.info("functions.overrun", version=served.spec.version)
            self._report_lost(served, worker, "function_time_limit")
            self._processes.kill(worker)

    def _report_lost(self, served: ServedVersion, worker: FunctionProcess, reason: str) -> None:
        """The process cannot report its request any more."""
        if worker.activity is None or not (began := worker.activity.read()[0]):
            return
        wall_ms = max(0.0, (time.monotonic_ns() - began) / 1e6)
        about = {**worker.activity.read_about(), "wall_ms": wall_ms, "is_traced": True}
        self._report(served.spec, {**about, "status": 503, "reason": reason, "log": []})

    def _is_current(self, served: ServedVersion) -> bool:
        return self._versions.get(served.spec.version) is served

    def _end_idle_workers(self, served: ServedVersion) -> None:
        for worker in list(served.workers.values()):
            if worker.is_idle:
                self._processes.kill(worker)

    def _watch(self, served: ServedVersion) -> None:
        asyncio.get_running_loop().add_reader(served.listening, self._begin_worker, served)

    def _begin_worker(self, served: ServedVersion) -> None:
        served.unwatch()
        if served.starting:
            return
        served.starting += 1
        task = asyncio.create_task(self._begin(served))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _begin(self, served: ServedVersion) -> None:
        try:
            delay = served.retry_at - time.monotonic()
            if delay > 0:
                refuse_waiting(served.listening, refuse(503, "function_unavailable"))
                await asyncio.sleep(delay)
            await self._wait_for_room(served)
            await self._start_worker(served)
        except (FunctionRefused, ProcessEnded, TimeoutError, OSError) as error:
            log.warning("functions.start_failed", version=served.spec.version, error=type(error).__name__)
            served.retry_at = time.monotonic() + RETRY_SECONDS
            if self._is_current(served):
                refuse_waiting(served.listening, refuse(503, "function_unavailable"))
        finally:
            served.starting = max(0, served.starting - 1)
            self._watch_if_unserved(served)

    def _watch_if_unserved(self, served: ServedVersion) -> None:
        if self._is_current(served) and not (served.workers or served.starting):
            self._watch(served)

    async def _wait_for_room(self, served: ServedVersion) -> None:
        """Raises FunctionRefused. Those of other sites are not waited for: a site has its share."""
        until, tenant = time.monotonic() + READY_SECONDS, served.spec.tenant_or_site
        self._waiting[tenant] += 1
        try:
            while not self._make_room(served):
                if time.monotonic() > until or served.is_closed:
                    raise FunctionRefused("the functions of the site, or of the node, use all processes")
                await asyncio.sleep(CHECK_SECONDS * max(1.0, self._waiting[tenant] / LOOKS_PER_CHECK))
        finally:
            self._waiting[tenant] -= 1
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    async def _start_worker(self, served: ServedVersion) -> None:
        """Right after `_make_room`: nothing may happen in between."""
        served.listening.setblocking(False)
        self._starting.append(served)
        try:
            with places.compiled(self._data, served.spec.version).open("rb") as compiled:
                worker = await self._processes.start_worker(served.uid, served.listening, compiled.fileno())
            try:
                report = await _initialize(worker, served)
            except BaseException:
                # Nobody else knows of it yet.
                self._end(worker)
                raise
        finally:
            self._starting.remove(served)
        if "failed" in report:
            self._end(worker)
            reason = f"{report['failed']}: {report.get('detail', '')}".strip(": ")
            self._report(served.spec, {"reason": report["failed"], "detail": report.get("detail"), "log": []})
            raise FunctionRefused(reason)
        if served.is_closed:
            self._end(worker)
            raise FunctionRefused("the version was withdrawn meanwhile")
        served.workers[worker.number] = worker
        self._running.add(served)
        served.last_used = time.monotonic()
        served.unwatch()
        task = asyncio.create_task(self._attend(served, worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self, process: FunctionProcess) -> None:
        self._processes.kill(process)
        process.close()

    async def _attend(self, served: ServedVersion, worker: FunctionProcess) -> None:
        """Answer what the process asks, until it ends."""
        ended = asyncio.create_task(worker.ended.wait())
        try:
            while True:
                reading = asyncio.create_task(worker.receive_length())
                await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()
                    break
                async with self._room.hold(served.spec.site, length := reading.result()):
                    await self._handle_message(served, worker, await worker.receive_content(length))
        except ProcessEnded:
            pass
        finally:
            ended.cancel()
            if not worker.is_killed:
                self._report_lost(served, worker, "function_stopped")
            served.workers.pop(worker.number, None)
            self._end(worker)
            if not served.workers:
                self._running.discard(served)
                if not self._is_current(served):
                    served.listening.close()
            self._watch_if_unserved(served)

    async def _handle_message(
        self, served: ServedVersion, worker: FunctionProcess, message: dict[str, Any]
    ) -> None:
        served.last_used = time.monotonic()
        if "op" in message:
            await worker.send(await self._answer(served.spec, message))
        else:
            self._report(served.spec, message)

    def _make_room(self, wanted: ServedVersion) -> bool:
        """Whether another process of the version may be started. If there are too many, one is ended for
        it."""
        workers = {
            worker.number: (served, worker)
            for served in self._running
            for worker in served.workers.values()
            if not worker.is_killed
        }
        running = [
            _describe(served.spec, number, served.last_used, worker)
            for number, (served, worker) in workers.items()
        ]
        running += [_describe(each.spec) for each in self._starting]
        spec = wanted.spec
        may_start, ended = self._capacity.decide(spec.tenant_or_site, spec.site, spec.memory_mb, running)
        for served, worker in (workers[number] for number in ended):
            # If it handles a request.
            self._report_lost(served, worker, "function_stopped")
            self._processes.kill(worker)
        return may_start


def _describe(
    spec: FunctionSpec, number: int = 0, last_used: float = 0.0, worker: FunctionProcess | None = None
) -> RunningWorker:
    """Without a process, one that is starting."""
    busy = worker.busy_seconds if worker else 0.0
    is_idle = worker is not None and not busy
    return RunningWorker(number, spec.tenant_or_site, spec.site, spec.memory_mb, last_used, is_idle, busy)


async def _initialize(worker: FunctionProcess, served: ServedVersion) -> dict[str, Any]:
    try:
        await worker.send(served.settings())
        async with asyncio.timeout(READY_SECONDS):
            return await worker.receive()
    except (ProcessEnded, TimeoutError):
        return {"failed": "function_unavailable", "detail": "its process has ended"}


def _settings(spec: FunctionSpec, variables: dict[str, str]) -> dict[str, Any]:
    """What a process of the version has to know."""
    return {
        "wall_ms": spec.wall_ms,
        "memory_mb": spec.memory_mb,
        "request_bytes": spec.request_bytes,
        "fresh": spec.fresh,
        "component": spec.is_component,
        "variables": variables,
        "bindings": [{"name": bound.name, "kind": bound.kind} for bound in spec.bindings],
    }


def read_kind(module: Path) -> bool:
    """Whether the file is a component, and not a core module."""
    with module.open("rb") as file:
        return is_component(file.read(8))
