"""What an engine is to the supervisor: a program with its own directory, ports and secrets, a command line
that follows from those alone, and a question that tells whether it serves."""

import os
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from stead.dev.secrets import Secrets

LOOPBACK = "127.0.0.1"


class DevError(Exception):
    """Something the person at the keyboard can put right; the message says how."""


class ProgramMissing(DevError):
    def __init__(self, program: str, remedy: str) -> None:
        super().__init__(f"{program} is not installed; install it with: {remedy}")


@dataclass(frozen=True)
class Ports:
    """The ports an engine takes, by name. A twin is the same number + 10000, which some take besides."""

    names: tuple[str, ...]
    twins: bool = False


@dataclass(frozen=True)
class Place:
    """Where one instance of an engine lives. What is not durable may trade its data for speed."""

    home: Path
    ports: Mapping[str, int]
    secrets: Secrets
    durable: bool


class Engine(ABC):
    name: ClassVar[str]
    ports: ClassVar[Ports]
    needs: ClassVar[tuple[str, ...]] = ()
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    patience: ClassVar[float] = 10.0
    """Seconds between the stop signal and SIGKILL."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @property
    def port(self) -> int:
        """The one its clients connect to."""
        return self.place.ports[self.ports.names[0]]

    @property
    def user(self) -> str | None:
        """The system user it must run as, where that is not ours."""
        return None

    @property
    def death_signal(self) -> signal.Signals:
        """What the kernel sends it when the supervisor dies without a word."""
        return self.stop_signal

    @abstractmethod
    def program(self) -> Path:
        """Its executable; raises ProgramMissing."""

    @abstractmethod
    async def version(self) -> str: ...

    async def prepare(self) -> None:
        """Makes its directory fit to start in; harmless to repeat."""
        self.place.home.mkdir(parents=True, exist_ok=True, mode=0o700)

    @abstractmethod
    def argv(self) -> list[str]: ...

    def env(self) -> dict[str, str]:
        return {}

    @abstractmethod
    async def ready(self) -> bool:
        """Whether it answers a real request now; must not wait longer than a probe does."""

    def tidy(self) -> None:
        """Removes what it leaves behind outside its directory or in the way of its next start; called when it
        is gone, however it went."""
        return


def find_program(name: str, remedy: str) -> Path:
    """The one installed beside this interpreter comes first: its version is the one our lock file names."""
    beside = Path(sys.executable).parent
    found = shutil.which(name, path=str(beside)) or shutil.which(name)
    if found is None:
        raise ProgramMissing(name, remedy)
    return Path(found)


def surroundings(settings: Mapping[str, str]) -> dict[str, str]:
    """Our environment without any Stead setting that happens to be in it, and then the given ones."""
    return {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")} | dict(
        settings
    )


def output_of(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as failure:
        raise DevError(f"{argv[0]} does not work here: {failure}") from None
