"""Copies what runs functions on a node into the program `stead`, which runs them on other machines."""

from collections.abc import Iterator
from pathlib import Path

from clients.generator.cli import PACKAGE

HOST, TOOLCHAIN = PACKAGE / "function_host", PACKAGE / "function_toolchain"
_SOURCE = Path("src/stead/node/functions")
_MODULES = ("direct_calls", "exchange", "guest", "guest_kinds", "host_calls", "messages", "ticker", "tracing")
"""Of the sandbox: what needs neither a container nor a node."""


def files(root: Path) -> Iterator[tuple[Path, str]]:
    yield root / HOST / "__init__.py", '"""What runs functions: the same modules as on a node."""\n'
    for name in _MODULES:
        source = _SOURCE / "sandbox" / f"{name}.py"
        header = f"# Generated from `{source}` by `make generate`.\n"
        yield root / HOST / f"{name}.py", header + (root / source).read_text()
    toolchain = root / _SOURCE / "toolchain"
    for path in sorted(each for each in toolchain.rglob("*") if each.is_file()):
        yield root / TOOLCHAIN / path.relative_to(toolchain), path.read_text()
