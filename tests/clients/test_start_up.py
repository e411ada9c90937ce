"""What the clients import: a program that only shows its version must not wait for what it does not use."""

import subprocess
import sys

import pytest

HEAVY = {
    "asyncio",
    "dataclasses",
    "email",
    "http.client",
    "httpx",
    "importlib.metadata",
    "inspect",
    "msgspec",
}
HEAVY |= {"pathlib", "pydantic", "requests", "rich", "ssl", "stead", "urllib.parse", "urllib.request"}


def imported(code: str, *arguments: str) -> set[str]:
    begin = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run(
        [sys.executable, "-S", "-X", "importtime", "-c", begin + code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = (
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    )
    return set(lines)


def test_the_package_imports_nothing():
    assert {name for name in imported("import stead_sdk") if name.startswith("stead_sdk")} == {
        "stead_sdk",
        "stead_sdk._version",
    }


@pytest.mark.parametrize("heavy", sorted(HEAVY))
def test_a_client_with_one_resource_imports_nothing_heavy(heavy: str):
    assert heavy not in _with_one_resource()


def test_a_client_imports_only_the_resources_that_it_uses():
    resources = {name for name in _with_one_resource() if name.startswith("stead_sdk._sync.resources.")}
    assert resources == {"stead_sdk._sync.resources.sites"}


def test_the_version_of_the_program_imports_nothing():
    found = imported("from stead_cli.main import main\nmain()", "--version")
    ours = {name for name in found if name.startswith(("stead", "click", "json"))}
    assert ours == {"stead_cli", "stead_cli.main"}
    assert found & HEAVY == set()


def test_a_command_imports_nothing_heavy_before_it_has_connected():
    found = imported(_A_COMMAND, "sites", "list", "--json")
    assert "stead_sdk._sync.connections" in found, "it has tried to"
    assert found & HEAVY == imported("import click") & HEAVY
    commands = {name for name in found if name.startswith(("stead_cli.commands.", "stead_cli.operations."))}
    assert commands <= {"stead_cli.operations.sites"}
    assert not {"difflib", "tomllib", "queue", "tarfile", "webbrowser"} & found


_A_COMMAND = """
import os, socket
with socket.socket() as closed:
    # Bound, but not listening: connections are refused at once.
    closed.bind(("127.0.0.1", 0))
    os.environ["STEAD_BASE_URL"] = "http://127.0.0.1:" + str(closed.getsockname()[1])
    os.environ["STEAD_API_KEY"], os.environ["XDG_CONFIG_HOME"] = "x", "/nonexistent"
    from stead_cli.run import run
    assert run(sys.argv[1:]) == 8
"""


def _with_one_resource() -> set[str]:
    return imported("from stead_sdk import Stead\nStead('key', base_url='http://x').sites")
