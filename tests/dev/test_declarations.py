"""Engines are declared once: everything else reads the list of engines."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stead.dev.documents import debian_packages, find_stale
from stead.dev.engines import ENGINES
from stead.dev.stack import ALL_PROGRAMS

ROOT = Path(__file__).parents[2]
TIMEOUT = 90.0

ENGINE = '''
"""An engine that exists only in a test: a web server from the standard library."""

import sys
from pathlib import Path

from stead.dev import probes
from stead.dev.engine import Documentation, Engine
from stead.dev.packages import Packages
from stead.dev.secrets import random_password
from stead.dev.supervised_program import LOOPBACK, Ports


class Example(Engine):
    name = "example"
    packages = Packages(debian=("example-server",), python=("example-bin",))
    ports = Ports(("example",))
    secrets = {"example_password": random_password}
    required_by = ("node",)
    documentation = Documentation(
        "the example", "an example", "Example", "a test", "nowhere", "here", "everything else"
    )

    def control_settings(self, program):
        return {"STEAD_EXAMPLE": f"{program}:{self.instance.secrets['example_password']}@{self.port}"}

    def node_settings(self, node):
        return {"STEAD_EXAMPLE": f"{node.id}@{self.port}"}

    def shell_variables(self):
        return {"STEAD_EXAMPLE_PORT": str(self.port)}

    def find_executable(self):
        return Path(sys.executable)

    async def read_version(self):
        return "1"

    def command(self):
        return [sys.executable, "-m", "http.server", "--bind", LOOPBACK, str(self.port)]

    async def is_ready(self):
        return await probes.http_ok(self.port, "/")
'''

GENERATE = "import sys, pathlib, stead.dev.documents as it; it.write(pathlib.Path(sys.argv[1]))"

INSPECT = """
import asyncio, json, sys
from pathlib import Path
from stead.dev.engines import ENGINES
from stead.dev.stack import Stack
from stead.protocol.subjects import Program

stack = Stack.attach(Path(sys.argv[1]))
asyncio.run(stack.add_node("node-dev"))
print(json.dumps({
    "worker": stack.environment(Program.WORKER, ENGINES)["STEAD_EXAMPLE"],
    "node": stack.node_environment("node-dev", Path("/"))["STEAD_EXAMPLE"],
    "shell": stack.shell_variables()["STEAD_EXAMPLE_PORT"],
}))
"""


class Checkout:
    """A copy of the source tree with one more engine: its module, and one name in the list."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root, self._data = root, data
        shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "docs", root / "docs")
        shutil.copy(ROOT / "pyproject.toml", root)
        package = root / "src" / "stead" / "dev" / "engines"
        (package / "example.py").write_text(ENGINE)
        names = (package / "__init__.py").read_text()
        names = names.replace("    Pebble,\n", "    Pebble,\n    Example,\n")
        names = names.replace("\nENGINES:", "from stead.dev.engines.example import Example\n\nENGINES:", 1)
        (package / "__init__.py").write_text(names)

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.root / "src"), "STEAD_DATA": str(self._data)}

    def python(self, *words: str) -> str:
        return subprocess.run(
            [sys.executable, *words],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT,
            check=True,
        ).stdout

    @contextmanager
    def stack(self, *names: str) -> Iterator[None]:
        chosen = [word for name in names for word in ("--only", name)]
        argv = [sys.executable, "-m", "stead.steadctl", "dev", "up", *chosen]
        with subprocess.Popen(argv, env=self._environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            waiting = set(names)
            while waiting:
                line = process.stdout.readline()
                assert line, f"{waiting} did not become ready"
                if " is ready on port " in line:
                    waiting.discard(line.split()[0])
            try:
                yield
            finally:
                process.terminate()
                process.stdout.read()

    def read(self, path: str) -> str:
        return (self.root / path).read_text()


@pytest.fixture
def checkout(tmp_path: Path, scratch: Path) -> Checkout:
    return Checkout(tmp_path / "checkout", scratch)


def test_an_added_engine_is_in_the_package_list_and_in_the_tables(checkout: Checkout) -> None:
    assert "example-server" in checkout.python("-m", "stead.steadctl", "dev", "packages").split()
    checkout.python("-c", GENERATE, str(checkout.root))
    assert "example-server" in checkout.read("packages.txt").split()
    project = tomllib.loads(checkout.read("pyproject.toml"))["project"]
    assert "example-bin" in project["optional-dependencies"]["engines"]
    assert "| an example | Example | a test | nowhere | here |" in checkout.read("docs/engines.md")
    assert "| the example | everything else |" in checkout.read("docs/operations.md")


def test_an_added_engine_is_started_and_programs_get_its_settings(checkout: Checkout, scratch: Path) -> None:
    with checkout.stack("nats", "example"):
        found = json.loads(checkout.python("-c", INSPECT, str(scratch)))
    port = json.loads((scratch / "state.json").read_text())["ports"]["example"]
    password = json.loads((scratch / "secrets.json").read_text())["example_password"]
    assert found == {
        "worker": f"worker:{password}@{port}",
        "node": f"node-dev@{port}",
        "shell": str(port),
    }


def test_generated_files_match_the_declarations() -> None:
    assert find_stale(ROOT) == []


def test_a_debian_package_is_listed_once() -> None:
    packages = debian_packages()
    assert sorted(packages) == sorted(set(packages))


def test_names_of_programs_ports_and_secrets_are_unique() -> None:
    for names in (
        [kind.name for kind in ALL_PROGRAMS],
        [port for kind in ALL_PROGRAMS for port in kind.ports.names],
        [secret for kind in ALL_PROGRAMS for secret in kind.secrets],
    ):
        assert len(names) == len(set(names))


def test_dependencies_name_programs_that_exist() -> None:
    names = {kind.name for kind in ALL_PROGRAMS}
    for kind in ALL_PROGRAMS:
        assert {*kind.depends_on, *kind.required_by} <= names, kind.name


def test_every_engine_is_documented() -> None:
    for engine in ENGINES:
        documentation = engine.documentation
        for text in (
            documentation.title,
            documentation.purpose,
            documentation.product,
            documentation.when_down,
        ):
            assert text
            assert "|" not in text
