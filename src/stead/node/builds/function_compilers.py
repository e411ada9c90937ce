"""How the languages of functions are compiled in the image `functions`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stead.node.builds.package_managers import Command
from stead.node.images.recipes import FUNCTION_TOOLCHAIN, ZIG
from stead.protocol.work.builds import FunctionLanguage

OUTPUT = "/work/home/function.wasm"
_HOME = "/work/home"


@dataclass(frozen=True)
class Compiler:
    commands: Callable[[Sequence[str]], tuple[tuple[str, ...], ...]]
    """The commands for the paths of the sources, which are executed in order."""
    environment: dict[str, str] = field(default_factory=dict)

    def plan(self, language: FunctionLanguage, sources: Sequence[str]) -> list[Command]:
        shown = f"build {sources[0].rpartition('/')[2]} ({language})"
        return [Command(argv, shown) for argv in self.commands(sources)]


def _javascript(sources: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return (("node", f"{FUNCTION_TOOLCHAIN}/build.mjs", sources[0], OUTPUT),)


def _c(sources: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    own = f"{FUNCTION_TOOLCHAIN}/c"
    options = ("--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wall", f"-I{own}")
    return (("clang", *options, "-o", OUTPUT, *sources, f"{own}/stead.c"),)


def _rust(sources: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    library = f"{_HOME}/libstead.rlib"
    options = ("rustc", "--target=wasm32-wasip1", "--edition=2021", "-Copt-level=2", "-Cpanic=abort")
    linked = ("--crate-type=cdylib", "-Clinker=wasm-ld", "-Cstrip=symbols", f"--extern=stead={library}")
    return (
        (*options, "--crate-name=stead", "-o", library, f"{FUNCTION_TOOLCHAIN}/rust/stead.rs"),
        (*options, *linked, "--crate-name=function", "-o", OUTPUT, sources[0]),
    )


def _go(_: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    options = ("-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-p=2")
    return (("go", "build", *options, f"-overlay={FUNCTION_TOOLCHAIN}/go/overlay.json", "-o", OUTPUT, "."),)


def _zig(sources: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    own = f"{FUNCTION_TOOLCHAIN}/zig"
    options = ("-target", "wasm32-wasi", "-O", "ReleaseSmall", "-fno-entry", "-rdynamic")
    modules = (
        *("--dep", "stead", "--dep", "function", f"-Mroot={own}/main.zig"),
        *("--dep", "stead", f"-Mfunction={sources[0]}", f"-Mstead={own}/stead.zig"),
    )
    return ((f"{ZIG}/zig", "build-exe", *options, *modules, f"-femit-bin={OUTPUT}"),)


COMPILERS: dict[FunctionLanguage, Compiler] = {
    "javascript": Compiler(_javascript),
    "typescript": Compiler(_javascript),
    "c": Compiler(_c),
    "rust": Compiler(_rust),
    "go": Compiler(
        _go,
        {
            "GOOS": "wasip1",
            "GOARCH": "wasm",
            "GOCACHE": f"{_HOME}/go-cache",
            "GOPATH": f"{_HOME}/go",
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-mod=mod",
        },
    ),
    "zig": Compiler(
        _zig, {"ZIG_GLOBAL_CACHE_DIR": f"{_HOME}/zig-cache", "ZIG_LOCAL_CACHE_DIR": f"{_HOME}/zig-cache"}
    ),
}
