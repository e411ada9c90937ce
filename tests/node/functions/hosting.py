"""A host of functions with its container, and requests to it."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stead.node.containers.egress_rules import EgressRules
from stead.node.functions import places
from stead.node.functions.bindings import AskState, Bindings
from stead.node.functions.compilation import compile_version
from stead.node.functions.container import FunctionsContainer
from stead.node.functions.driver import is_component_file, prepare_directories
from stead.node.functions.outgoing import Outgoing
from stead.node.functions.processes import FunctionProcesses
from stead.node.functions.serving import Serving
from stead.node.functions.spec import BoundResource, FunctionSpec
from stead.shared.ids import new_id
from tests.patience import time_limit

FIRST_SLOT = 1024


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str

    @property
    def reason(self) -> str:
        return self.headers.get("x-stead-reason", "")


@dataclass
class Hosting:
    data: Path
    serving: Serving
    bindings: Bindings
    cgroup: str
    reports: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    questions: list[tuple[str, str, str, dict[str, Any]]] = field(default_factory=list)
    slots: int = FIRST_SLOT

    async def serve(
        self, module: bytes, *, start: bool = True, same_as: str = "", **fields: Any
    ) -> FunctionSpec:
        """A new function, compiled and served. A version with the same module need not be compiled again."""
        release, version = new_id("rel"), new_id("fnv")
        home = self.data / "releases" / release
        home.mkdir(parents=True)
        (home / "function.wasm").write_bytes(module)
        variables = fields.pop("secrets", {})
        limits = {"memory_mb": 64, "wall_ms": 500, "request_bytes": 100_000} | fields
        spec = FunctionSpec(
            function=limits.pop("function", new_id("fn")),
            version=version,
            site=limits.pop("site", "site_a"),
            environment=limits.pop("environment", "env_a"),
            release=release,
            is_component=is_component_file(home / "function.wasm"),
            active=True,
            **limits,
        )
        self.slots += 1
        if same_as:
            os.link(places.compiled(self.data, same_as), places.compiled(self.data, version))
        await compile_version(self.serving._processes, self.data, spec, self.slots)
        self.serving.serve(spec, {**spec.variables, **variables}, self.slots)
        if start:
            await self.serving.probe(version)
        return spec

    async def end_processes(self, version: str) -> None:
        served = self.serving._versions[version]
        async with time_limit(30.0):
            while workers := list(served.workers.values()):
                for worker in workers:
                    self.serving._processes.kill(worker)
                await asyncio.sleep(0.01)

    def kill_one(self, version: str) -> int:
        """End a process of the version, whatever it does. The number of those ended."""
        workers = [each for each in self.serving._versions[version].workers.values() if not each.is_killed]
        for worker in workers[:1]:
            self.serving._processes.kill(worker)
        return len(workers[:1])

    async def ask(
        self,
        spec: FunctionSpec,
        target: str = "/",
        *,
        body: bytes = b"",
        headers: str = "",
        within: float = 30.0,
    ) -> Answer | None:
        """None if the connection was closed without an answer, as when the process is killed. The edge then
        answers."""
        path = places.socket_of(self.data, spec.version)
        async with time_limit(within):
            reader, writer = await asyncio.open_unix_connection(str(path))
            head = (
                f"POST {target} HTTP/1.1\r\nHost: a.example\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            try:
                received = await reader.read()
            except (ConnectionResetError, BrokenPipeError):
                received = b""
            writer.close()
        if not received:
            return None
        lines, _, content = received.partition(b"\r\n\r\n")
        first, *rest = lines.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in rest)
        return Answer(
            int(first.split(" ")[1]), {name.lower(): value for name, _, value in pairs}, content.decode()
        )

    async def call_host(
        self, spec: FunctionSpec, operation: str, argument: object, **about: int
    ) -> dict[str, Any]:
        """What the function is told when it asks its host."""
        known = {"left_ms": 20_000, "depth": 0, "subrequests": 0}
        return await self.bindings.answer(spec, {"op": operation, "arg": argument, **known, **about})

    async def first_reason_of(self, spec: FunctionSpec) -> str:
        """Why a request of the function failed. It is reported after the visitor has the answer."""
        async with time_limit(30.0):
            while True:
                for version, report in self.reports:
                    if version == spec.version:
                        return str(report.get("reason", ""))
                await asyncio.sleep(0.02)


@asynccontextmanager
async def hosting(
    data: Path,
    rules: EgressRules | None = None,
    most_workers: int = 32,
    memory_mb: int = 1024,
    ask_state: AskState | None = None,
) -> AsyncIterator[Hosting]:
    os.chmod(data, 0o711)  # noqa: S103, PTH101 - users of the container pass through
    prepare_directories(data)

    async def note(spec: FunctionSpec, op: str, namespace: str, arg: dict[str, Any]) -> dict[str, Any]:
        made.questions.append((spec.environment, op, namespace, arg))
        return {"ok": len(made.questions)}

    def report(spec: FunctionSpec, told: dict[str, Any]) -> None:
        made.reports.append((spec.version, told))

    outgoing = Outgoing(rules or EgressRules())
    bindings = Bindings(data, ask_state or note, outgoing, lambda *wanted: serving.find_active(*wanted))
    serving = Serving(data, bindings.answer, report, most_workers=most_workers)
    container = FunctionsContainer(places.home(data), memory_mb=memory_mb, processes=1024)
    serving.processes = FunctionProcesses(container, serving.forget_workers)
    made = Hosting(data, serving, bindings, container.cgroup)
    tasks = [asyncio.create_task(serving.processes.run()), asyncio.create_task(serving.run())]
    try:
        yield made
        for task in tasks:
            assert not task.done(), task.exception()
    finally:
        serving.close()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)


def binding(kind: Any, name: str, **config: Any) -> BoundResource:
    return BoundResource(kind, name, **config)
