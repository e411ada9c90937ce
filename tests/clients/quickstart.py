"""The commands of docs/quickstart.md, and somebody who follows them until a folder is live."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stead.dev.stack import Stack
from tests.clients.approval import approve
from tests.clients.terminal import Answer, Machine, type_command
from tests.patience import slowdown

DOCUMENT = Path(__file__).parents[2] / "docs" / "quickstart.md"
BOUND = 240.0
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ADDRESS, _DOMAIN, _LAST = "https://api.example.com", "hello.example.com", ["stead", "deploy"]
COMPARING = "compare the code: "

Command = list[str]


def read_commands(text: str) -> Iterator[Command]:
    """Those of all blocks of a document, in their order."""
    return (shlex.split(line) for line in "".join(_BLOCK.findall(text)).splitlines() if line)


def documented_commands(address: str, domain: str) -> list[Command]:
    """Until the folder is live, with names that exist here: to install, to sign in, to create, to publish."""
    commands = list(read_commands(DOCUMENT.read_text()))
    names = {_ADDRESS: address, _DOMAIN: domain}
    return [[names.get(word, word) for word in words] for words in commands[: commands.index(_LAST) + 1]]


def install(command: Command, checkout: Path, folder: Path) -> Path:
    """Installs the program in a folder of its own, with the package cache of the user. Its interpreter."""
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    done = subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, **places, "UV_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=BOUND * slowdown(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "tools" / "stead-cli" / "bin" / "python"


@dataclass
class Reader:
    """Has an empty home, and a folder with a page."""

    folder: Path
    checkout: Path
    stack: Stack
    domain: str

    def __post_init__(self) -> None:
        self._installed = self.folder / "installed"
        self._machine = Machine(self.folder, {"PATH": f"{self._installed / 'bin'}:{os.environ['PATH']}"})
        (self._machine.work / "index.html").write_text(self.page)

    @property
    def page(self) -> str:
        return f"<h1>{self.domain}</h1>"

    @property
    def commands(self) -> list[Command]:
        return documented_commands(self.stack.api.url, self.domain)

    def type_command(self, command: Command) -> None:
        if command[0] == "uv":
            install(command, self.checkout, self._installed)
            return
        approving: list[Answer] = [(COMPARING, lambda screen: approve(screen, self.stack))]
        done = type_command(
            command,
            self._machine.work,
            self._machine.environment,
            answers=approving if "login" in command else (),
            bound=BOUND,
        )
        assert done.code == 0, done.out
