"""A program that the supervisor runs: an engine, or one of Stead's own programs."""

import os
import pwd
import shutil
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from stead.dev.errors import DevError, ProgramMissing
from stead.dev.packages import Packages
from stead.dev.secrets import Generator, Secrets
from stead.dev.subprocesses import run

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Ports:
    """The names of the ports that a program listens on. Clients connect to the first one.

    With `paired`, each port has a second one with the same number + 10000, as SeaweedFS requires."""

    names: tuple[str, ...] = ()
    paired: bool = False


@dataclass(frozen=True)
class Instance:
    """What one stack has assigned to one program. If it is not `durable`, the program may trade the safety
    of its data for speed."""

    data: Path
    """The data directory of the whole stack."""
    home: Path
    """The program's own directory in it."""
    ports: Mapping[str, int]
    secrets: Secrets
    durable: bool


class SupervisedProgram(ABC):
    """Subclasses declare what the program needs as class attributes, and how it runs as methods."""

    name: ClassVar[str]
    packages: ClassVar[Packages] = Packages()
    ports: ClassVar[Ports] = Ports()
    secrets: ClassVar[Mapping[str, Generator]] = {}
    """Secrets by name, with the function that generates each one. Names are unique in the whole stack."""
    depends_on: ClassVar[tuple[str, ...]] = ()
    """Programs that must be ready before this one starts, by name."""
    required_by: ClassVar[tuple[str, ...]] = ()
    """Programs that start only when this one is ready, by name."""
    ready_timeout: ClassVar[float] = 60.0
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    stop_timeout: ClassVar[float] = 10.0
    """Seconds between the stop signal and SIGKILL."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    @classmethod
    def create_secrets(cls, secrets: Secrets) -> None:
        """Adds the secrets that do not exist yet."""
        for name, generate in cls.secrets.items():
            secrets.ensure(name, generate)

    @property
    def port(self) -> int:
        """The port that clients connect to; 0 for a program without ports."""
        return self.instance.ports[self.ports.names[0]] if self.ports.names else 0

    @property
    def user(self) -> str | None:
        """The system user that the program runs as, if it is not the current user."""
        return None

    @property
    def death_signal(self) -> signal.Signals:
        """The signal that the kernel sends to the program if the supervisor is killed."""
        return self.stop_signal

    @abstractmethod
    def find_executable(self) -> Path:
        """Returns the path of the executable, or raises ProgramMissing."""

    @abstractmethod
    async def read_version(self) -> str: ...

    async def prepare(self) -> None:
        """Creates the program's directory and its contents. Can be repeated."""
        home = self.instance.home
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.user is not None:
            shutil.chown(home, self.user, pwd.getpwnam(self.user).pw_gid)
            await self._require_access(self.user)

    async def _require_access(self, user: str) -> None:
        home = self.instance.home
        if (await run(["/usr/bin/test", "-x", str(home)], user=user)).code != 0:
            raise DevError(
                f"{self.name} runs as the user {user}, who cannot enter {home}: "
                "choose another directory with --data, one whose parents every user may enter"
            )

    @abstractmethod
    def command(self) -> list[str]:
        """The command line that starts the program in the foreground."""

    def process_environment(self) -> dict[str, str]:
        """Environment variables of the program's own process."""
        return {}

    @abstractmethod
    async def is_ready(self) -> bool:
        """Sends a real request and returns whether it was answered. Must return within a few seconds."""

    def clean_up(self) -> None:
        """Removes files that the ended process left behind and that its successor could not start with."""
        return

    def shell_variables(self) -> dict[str, str]:
        """Variables that `steadctl dev env` prints."""
        return {}

    def locate(self, executable: str) -> Path:
        """Returns the path of an executable of the program's packages, or raises ProgramMissing."""
        return locate_executable(executable, self.packages)


def locate_executable(name: str, packages: Packages) -> Path:
    """An executable next to this Python interpreter comes first, because the lock file determines its
    version."""
    directory = str(Path(sys.executable).parent)
    found = shutil.which(name, path=directory) or shutil.which(name)
    if found is None:
        raise ProgramMissing(name, packages)
    return Path(found)


def clean_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The current environment, with the given settings in place of any STEAD_* variables it contains."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")}
    return inherited | dict(settings)
