"""Compiles a function on this machine, as a node does."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from stead_cli.failures import CliError
from stead_cli.function_compilers import (
    PROGRAMS,
    find_problem,
    has_own_linker,
    missing,
    require_program,
    working_folder,
)
from stead_cli.function_languages import LANGUAGES
from stead_cli.settings import cache_folder

_HERE = Path(__file__).parent
TOOLCHAIN, PACKAGES = _HERE / "function_toolchain", _HERE / "function_packages"
_LINKER = "-Clinker=wasm-ld"
_NPM = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
_WATCHED = {*LANGUAGES, ".h", ".json", ".wasm"}
_MOST_FILES = 5000


def build(source: Path) -> bytes:
    """The module or component of a source file. What the compiler says goes to stderr."""
    if source.suffix == ".wasm":
        return _read_module(source)
    language = LANGUAGES.get(source.suffix)
    if language is None:
        raise CliError(f"{source.name} is in no language of functions.", code="usage", exit_code=2)
    require_program(language)
    toolchain = prepared_toolchain() if PROGRAMS[language] == "node" else TOOLCHAIN
    with tempfile.TemporaryDirectory(prefix="stead-fn-") as name:
        home, variables = Path(name), {**_without_key(), **environment(language, Path(name))}
        # Go finds its files only from there.
        folder = source.parent.resolve() if language == "go" else working_folder()
        left_out = () if has_own_linker() else (_LINKER,)
        for words in commands(language, _sources(source, language), toolchain, home):
            command = [word for word in words if word not in left_out]
            done = subprocess.run(command, cwd=folder, env=variables, stdout=sys.stderr, check=False)
            if done.returncode:
                raise _failure(source, language)
        return (home / "function.wasm").read_bytes()


def _read_module(file: Path) -> bytes:
    """It may be missing for a moment, while a compiler replaces it."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise CliError(f"{file.name} cannot be read: {error.strerror}", code="build.failed") from None


def _failure(source: Path, language: str) -> CliError:
    if problem := find_problem(language):
        return missing(PROGRAMS[language], problem)
    return CliError(f"{source.name} does not compile.", code="build.failed", exit_code=3)


def _without_key() -> dict[str, str]:
    """The variables of this program. Compilers and packages have no use for the key."""
    return {name: value for name, value in os.environ.items() if name != "STEAD_API_KEY"}


def commands(language: str, sources: list[str], toolchain: Path, home: Path) -> list[list[str]]:
    output = str(home / "function.wasm")
    if language in ("javascript", "typescript"):
        return [["node", f"{toolchain}/build.mjs", sources[0], output]]
    if language == "c":
        options = ["--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wall", f"-I{toolchain}/c"]
        return [["clang", *options, "-o", output, *sources, f"{toolchain}/c/stead.c"]]
    if language == "rust":
        library = f"{home}/libstead.rlib"
        rustc = ["rustc", "--target=wasm32-wasip1", "--edition=2021", "-Copt-level=2", "-Cpanic=abort"]
        linked = ["--crate-type=cdylib", _LINKER, "-Cstrip=symbols", f"--extern=stead={library}"]
        return [
            [*rustc, "--crate-name=stead", "-o", library, f"{toolchain}/rust/stead.rs"],
            [*rustc, *linked, "--crate-name=function", "-o", output, sources[0]],
        ]
    if language == "go":
        options = ["-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-p=2"]
        return [
            ["go", "build", *options, f"-overlay={_overlay(sources, toolchain, home)}", "-o", output, "."]
        ]
    options = ["-target", "wasm32-wasi", "-O", "ReleaseSmall", "-fno-entry", "-rdynamic"]
    modules = ["--dep", "stead", "--dep", "function", f"-Mroot={toolchain}/zig/main.zig"]
    modules += ["--dep", "stead", f"-Mfunction={sources[0]}", f"-Mstead={toolchain}/zig/stead.zig"]
    return [["zig", "build-exe", *options, *modules, f"-femit-bin={output}"]]


def environment(language: str, home: Path) -> dict[str, str]:
    if language == "go":
        return {
            "GOOS": "wasip1",
            "GOARCH": "wasm",
            "GOCACHE": str(cache_folder() / "go"),
            "GOPATH": f"{home}/go",
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-mod=mod",
        }
    if language == "zig":
        cache = str(cache_folder() / "zig")
        return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    return {}


def _overlay(sources: list[str], toolchain: Path, home: Path) -> Path:
    """Go finds the files of the platform beside those of the function."""
    folder, file = Path(sources[0]).parent, home / "overlay.json"
    replaced = {"go.mod": "go.mod", "stead_platform.go": "stead.go"}
    paths = {str(folder / name): f"{toolchain}/go/{own}" for name, own in replaced.items()}
    file.write_text(json.dumps({"Replace": paths}))
    return file


def _sources(source: Path, language: str) -> list[str]:
    """C has no imports: all files beside the first one are compiled."""
    first = source.resolve()
    others = sorted(first.parent.glob("*.c")) if language == "c" else []
    return [str(first), *(str(each) for each in others if each != first)]


def prepared_toolchain() -> Path:
    """The toolchain with its packages from npm, which are installed once. Their scripts are not run."""
    files = sorted(each for root in (TOOLCHAIN, PACKAGES) for each in root.rglob("*") if each.is_file())
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()[:16]
    ready = cache_folder() / f"functions-{digest}"
    if ready.is_dir():
        return ready
    npm = shutil.which("npm")
    if npm is None:
        raise missing("node", "The program npm is not installed; it installs the compiler of functions.")
    sys.stderr.write("Installing the compiler of functions, once …\n")
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ready.parent, prefix="new-") as name:
        new = Path(name) / "toolchain"
        shutil.copytree(TOOLCHAIN, new)
        shutil.copytree(PACKAGES, new, dirs_exist_ok=True)
        done = subprocess.run([npm, *_NPM], cwd=new, stdout=sys.stderr, check=False)
        if done.returncode:
            raise CliError(
                "The compiler of functions cannot be installed.",
                code="compiler.missing",
                fix="See what npm says above. It must reach its registry: npm ping",
            )
        try:
            new.rename(ready)
        except OSError:
            if not ready.is_dir():
                raise
    return ready


def stamp(source: Path) -> tuple[tuple[str, int], ...]:
    """Changes when a file of the function does."""
    found: list[tuple[str, int]] = []
    for folder, names, files in os.walk(source.parent):
        names[:] = [name for name in names if name not in ("node_modules", ".git", ".stead")]
        for name in files:
            if os.path.splitext(name)[1] in _WATCHED:  # noqa: PTH122 - for every file
                path = os.path.join(folder, name)  # noqa: PTH118
                with suppress(OSError):  # It may be gone already.
                    found.append((path, os.stat(path, follow_symlinks=False).st_mtime_ns))  # noqa: PTH116
        if len(found) > _MOST_FILES:
            break
    return tuple(sorted(found))
