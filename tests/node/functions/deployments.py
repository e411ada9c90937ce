"""The driver of functions with a host that does what a test says. No container runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment
from stead.node.drivers.releases import Releases
from stead.node.functions import places
from stead.node.functions.control_link import HostAnswer, HostOrder, serve_orders
from stead.node.functions.driver import FunctionsDriver, FunctionTable, prepare_directories
from stead.node.functions.spec import FunctionSecrets, FunctionSpec
from stead.node.hosting.desired_state import DesiredState
from stead.protocol.work.functions import EnsureFunction
from stead.protocol.work.releases import EnsureRelease, release_of
from stead.shared.ids import new_id
from stead.shared.runtimes import Runtime
from tests.node.driver_pairs import CapturedOutput

Compile = Callable[[str], Awaitable[None]]
DIGEST = "sha256:" + "0" * 64
MODULE = b"\0asm\1\0\0\0"


class PresentReleases(Releases):
    """They are on the node already."""

    def __init__(self) -> None:
        self._users = []

    async def ensure(self, wanted: EnsureRelease, kind: Runtime) -> bool:  # noqa: ARG002
        return False

    async def add_to_list(self, environment: Path, wanted: EnsureRelease) -> None:
        pass


class Deployments:
    """`compile_` is called with a version that was not compiled before, and is done when it returns."""

    def __init__(self, data: Path, compile_: Compile) -> None:
        self.data, self._compile = data, compile_
        self.table: FunctionTable = DesiredState(
            places.state_file(data), FunctionSpec, FunctionSecrets, bytes(32)
        )
        self.driver = FunctionsDriver(data, self.table, PresentReleases(), DiskSpace(data, min_free_mb=0))
        self.bytes_compiled = 10

    def deploy(self, site: str, tenant: str = "", **fields: Any) -> asyncio.Task[None]:
        work = EnsureFunction(
            fields.pop("function", new_id("fn")),
            fields.pop("version", new_id("fnv")),
            EnsureRelease("wasm", DIGEST, b"", b"", b"", (), ()),
            tenant=tenant,
            **fields,
        )
        (self.data / "environments" / f"env_{site}").mkdir(parents=True, exist_ok=True)
        task = Assignment("job", site, f"env_{site}", CapturedOutput(), "step")
        return asyncio.create_task(self.driver.ensure_function(task, work))

    async def obey(self, order: HostOrder) -> HostAnswer:
        target = places.compiled(self.data, order.version)
        if order.action == "ensure" and not target.exists():
            target.write_bytes(bytes(self.bytes_compiled))
            await self._compile(order.version)
        return HostAnswer(ok=True)

    def compiled(self) -> set[str]:
        return {file.name for file in (places.home(self.data) / "compiled").iterdir()}


@asynccontextmanager
async def deployments(data: Path, compile_: Compile) -> AsyncIterator[Deployments]:
    prepare_directories(data)
    module = places.module_file(data, release_of(DIGEST))
    module.parent.mkdir(parents=True)
    module.write_bytes(MODULE)
    made = Deployments(data, compile_)
    try:
        async with await serve_orders(places.control_socket(data), made.obey):
            yield made
    finally:
        made.table.close()
