"""The builder of functions: compiles a file or a folder to WebAssembly. It has no network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stead.node.builds.builder import BuiltSite, StaticBuilder
from stead.node.builds.failures import BuildFailed
from stead.node.builds.fetcher import Commit
from stead.node.builds.function_compilers import COMPILERS
from stead.node.builds.function_projects import find_sources
from stead.node.builds.log import BuildLog
from stead.node.builds.sandbox import SOURCE, Sandbox
from stead.node.builds.workspaces import Workspace
from stead.node.containers.bundle import BindMount
from stead.node.containers.egress_rules import EgressRules
from stead.node.drivers.driver import Assignment, Handler, Refusal
from stead.node.images.on_demand import ImageMaker
from stead.node.images.recipes import FUNCTION_TOOLCHAIN
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.builds import Build, BuildResult

IMAGE = "functions"
TOOLCHAIN = Path(__file__).parent.parent / "functions" / "toolchain"
MODULE = "function.wasm"
MAX_MODULE_BYTES = 32 << 20


@dataclass(frozen=True)
class FunctionBuilder(StaticBuilder):
    find_sandbox: Callable[[], Sandbox | None] = lambda: None
    """Returns the sandbox of the compilers; None while the node does not have their image."""
    image_maker: ImageMaker | None = None
    """Makes the image for the first build, on a node that makes images on demand."""

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build_function, ("wasm",))]

    async def build_function(self, task: Assignment, wanted: Build) -> BuildResult:
        if self.image_maker is not None:
            await self.image_maker.ensure(IMAGE, task.output)
        sandbox = await run_in_thread(self.find_sandbox)
        if sandbox is None:
            raise Refusal(Build.unsupported_code, f"this node does not have the image {IMAGE}")
        return await replace(self, sandbox=sandbox).build(task, wanted)

    async def run_commands(
        self,
        workspace: Workspace,
        task: Assignment,  # noqa: ARG002 - a build of a function has no cache
        wanted: Build,
        log: BuildLog,
        commit: Commit,  # noqa: ARG002 - nor has it a commit
    ) -> BuiltSite:
        function = wanted.function
        if function is None or function.language not in COMPILERS:
            raise BuildFailed("this node cannot build functions in this language")
        mounts = (BindMount(TOOLCHAIN, FUNCTION_TOOLCHAIN),)
        found = await run_in_thread(
            find_sources, workspace.source, function.language, function.filename or ""
        )
        sources = [f"{SOURCE}/{name}" for name in found]
        for command in COMPILERS[function.language].plan(function.language, sources):
            await _without_network(self).run_step(workspace, wanted, log, "build", command, mounts)
        return BuiltSite(await run_in_thread(_collect, workspace))

    def environment(self, wanted: Build, *, cached: bool) -> dict[str, str]:
        function = wanted.function
        compiler = COMPILERS.get(function.language) if function else None
        if function is None or compiler is None:
            return super().environment(wanted, cached=cached)
        own = {"STEAD_COMPATIBILITY_DATE": function.compatibility_date}
        return super().environment(wanted, cached=cached) | compiler.environment | own

    async def report_rules(self, workspace: Workspace, built: BuiltSite, site: Path, log: BuildLog) -> None:
        """A function has no rules of a site."""


def _without_network(builder: FunctionBuilder) -> FunctionBuilder:
    return replace(builder, rules=EgressRules())


def _collect(workspace: Workspace) -> Path:
    """The directory that is packed. What the build has written may be anything, also a link."""
    built, release = workspace.home / MODULE, workspace.work / "release"
    if built.is_symlink() or not built.is_file():
        raise BuildFailed("the compiler has written no module")
    if built.stat().st_size > MAX_MODULE_BYTES:
        raise BuildFailed(f"the module has more than {MAX_MODULE_BYTES} bytes")
    release.mkdir()
    (release / MODULE).write_bytes(built.read_bytes())
    return release
