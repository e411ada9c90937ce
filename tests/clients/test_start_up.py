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


def imported(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-X", "importtime", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
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


def _with_one_resource() -> set[str]:
    return imported("from stead_sdk import Stead\nStead('key', base_url='http://x').sites")
