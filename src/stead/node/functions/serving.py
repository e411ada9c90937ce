"""Serves the versions of functions: a socket for each, processes while there are requests.

The host owns the socket, so requests wait in its queue while a process is starting. Idle processes end by
themselves; a process that handles a request for longer than it may is killed, whatever it does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import structlog
from msgspec.structs import replace

from stead.node.functions import places
from stead.node.functions.bindings import seconds_left
from stead.node.functions.body_room import BodyRoom
from stead.node.functions.process_room import CHECK_SECONDS, SITE_MEMORY_MB, ProcessRoom
from stead.node.functions.processes import FunctionProcess, FunctionProcesses, ProcessEnded
from stead.node.functions.sandbox.exchange import refuse
from stead.node.functions.sandbox.host_calls import ANSWER_GRACE_SECONDS
from stead.node.functions.served_version import FunctionRefused, ServedVersion, build_settings
from stead.node.functions.spec import FunctionSpec
from stead.node.hosting.listening_socket import has_waiting, refuse_waiting

READY_SECONDS = 30.0
RETRY_SECONDS = 1.0
LAST_REPORT_SECONDS = 1.0
"""How long the report of a process that has ended is read."""

log = structlog.get_logger()

Answer = Callable[[FunctionSpec, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers what a function asks its host."""
Report = Callable[[FunctionSpec, dict[str, Any]], None]
"""Receives the log of a request, and the reason if it failed."""


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
        self._body_room = room or BodyRoom()
        self._process_room = ProcessRoom(most_workers, site_memory_mb, self._stop_worker)
        self._versions: dict[str, ServedVersion] = {}
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
        if known is not None and known.settings() == build_settings(spec, variables):
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

    async def probe(self, version: str) -> None:
        """Start a process, which is ready when the function could be instantiated. Raises FunctionRefused."""
        served = self._versions[version]
        if not served.workers:
            await self._process_room.wait_for_room(served)
            await self._start_worker(served)

    async def run(self) -> None:
        """Watch the processes until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now, refused = time.monotonic_ns(), dict[str, int]()
            for served in list(self._process_room.running):
                for worker in list(served.workers.values()):
                    self._check_overrun(served, worker, now)
                if self._is_current(served):
                    if served.is_short_of_workers(now) and self._process_room.try_make_room(served, refused):
                        self._begin_worker(served)
                elif served.is_closed or not has_waiting(served.listening):
                    self._end_idle_workers(served)

    async def forget_workers(self) -> None:
        """The container has ended, and all processes with it."""
        for served in self._versions.values():
            served.workers.clear()
            served.starting = 0
            self._watch(served)
        self._process_room.running.clear()

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

    def _stop_worker(self, served: ServedVersion, worker: FunctionProcess) -> None:
        """End the process, and report the request that it handles, if there is one."""
        self._report_lost(served, worker, "function_stopped")
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
            await self._process_room.wait_for_room(served)
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

    async def _start_worker(self, served: ServedVersion) -> None:
        """Called right after room was made: nothing may happen in between."""
        served.listening.setblocking(False)
        self._process_room.starting.append(served)
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
            self._process_room.starting.remove(served)
        if "failed" in report:
            self._end(worker)
            reason = f"{report['failed']}: {report.get('detail', '')}".strip(": ")
            self._report(served.spec, {"reason": report["failed"], "detail": report.get("detail"), "log": []})
            raise FunctionRefused(reason)
        if served.is_closed:
            self._end(worker)
            raise FunctionRefused("the version was withdrawn meanwhile")
        served.workers[worker.number] = worker
        self._process_room.running.add(served)
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
                    await asyncio.wait({reading}, timeout=LAST_REPORT_SECONDS)
                if not reading.done():
                    reading.cancel()
                    break
                async with self._body_room.hold(served.spec.site, length := reading.result()):
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
                self._process_room.running.discard(served)
                if not self._is_current(served):
                    served.listening.close()
            self._watch_if_unserved(served)

    async def _handle_message(
        self, served: ServedVersion, worker: FunctionProcess, message: dict[str, Any]
    ) -> None:
        served.last_used = time.monotonic()
        if "op" in message:
            waits_until = time.monotonic() + seconds_left(message) + ANSWER_GRACE_SECONDS
            answer = await self._answer(served.spec, message)
            # Later, the process reports that its request has failed, and ends. Sending would lose its report.
            if time.monotonic() < waits_until:
                await worker.send(answer)
        else:
            self._report(served.spec, message)


async def _initialize(worker: FunctionProcess, served: ServedVersion) -> dict[str, Any]:
    try:
        await worker.send(served.settings())
        async with asyncio.timeout(READY_SECONDS):
            return await worker.receive()
    except (ProcessEnded, TimeoutError):
        return {"failed": "function_unavailable", "detail": "its process has ended"}
