"""The compilers of functions that this machine has, and what is missing of one that fails."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from stead_cli.failures import CliError
from stead_cli.settings import cache_folder

PROGRAMS = {"javascript": "node", "typescript": "node", "c": "clang", "rust": "rustc"}
PROGRAMS |= {"go": "go", "zig": "zig"}
_INSTALLING = {
    "node": "Install Node.js 20 or newer",
    "clang": "Install clang 19 with lld, wasi-libc and its runtime library"
    " (Debian: apt-get install clang lld wasi-libc libclang-rt-dev-wasm32)",
    "rustc": "Install Rust with the target wasm32-wasip1 (rustup target add wasm32-wasip1;"
    " Debian: apt-get install rustc lld libstd-rust-dev-wasm32)",
    "go": "Install Go 1.24 or newer (https://go.dev/dl/)",
    "zig": "Install Zig 0.17 (https://ziglang.org/download/)",
}
_OLDEST = {"node": (20, 0), "go": (1, 24)}
_FOR_C = ("clang", "--target=wasm32-wasi")


def require_program(language: str) -> None:
    program = PROGRAMS[language]
    if shutil.which(program) is None:
        raise missing(program, f"The program {program} is not installed; it compiles {language}.")


def missing(program: str, message: str) -> CliError:
    fix = f"{_INSTALLING[program]}, or give a file that is compiled already (.wasm)."
    return CliError(message, code="compiler.missing", fix=fix)


def working_folder() -> Path:
    """Where compilers are started. In a folder of somebody else, `rust-toolchain.toml` can name the program
    that rustc runs."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return cache_folder()


def find_problem(language: str) -> str:
    """Why nothing can be compiled on this machine; empty if it is not because of the compiler."""
    program = PROGRAMS[language]
    if program == "clang":
        return _problem_of_clang()
    if program == "rustc":
        return _problem_of_rustc()
    said = _output(program, "version") if program in ("go", "zig") else _output(program, "--version")
    found = re.search(r"(\d+)\.(\d+)", said)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if program == "zig":
        return "" if version == (0, 17) else f"Functions are compiled with Zig 0.17; this is {said}."
    oldest = _OLDEST[program]
    return "" if version >= oldest else f"{said} is too old to compile functions."


def _problem_of_clang() -> str:
    if not _is_found(_output(*_FOR_C, "-print-file-name=crt1-reactor.o")):
        return "clang has no C library for WebAssembly (wasi-libc)."
    if not _is_found(_output(*_FOR_C, "-print-libgcc-file-name")):
        return "clang has no runtime library for WebAssembly (libclang_rt)."
    if not _is_found(_output(*_FOR_C, "-print-prog-name=wasm-ld")):
        return "clang has no linker for WebAssembly (wasm-ld)."
    return ""


def _problem_of_rustc() -> str:
    if not _is_found(_output("rustc", "--target=wasm32-wasip1", "--print=target-libdir")):
        return "rustc has no standard library for the target wasm32-wasip1."
    if not has_own_linker() and not any(Path(_output("rustc", "--print=sysroot")).rglob("bin/rust-lld")):
        return "rustc has no linker for WebAssembly (wasm-ld)."
    return ""


def has_own_linker() -> bool:
    """That of the system. Without it, rustc uses the one that rustup installs with it."""
    return shutil.which("wasm-ld") is not None


def _is_found(path: str) -> bool:
    return os.path.isabs(path) and os.path.exists(path)  # noqa: PTH110, PTH117


def _output(*command: str) -> str:
    """What it prints; empty if it fails."""
    try:
        done = subprocess.run(
            command, cwd=working_folder(), capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
