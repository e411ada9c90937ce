"""The data directory: where everything of a stack lies, and the note of what runs from it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stead.dev.child import Condition
from stead.dev.files import locked, read_json, write_json
from stead.dev.identity import ProcessId


class Record(msgspec.Struct):
    """`state.json`: the ports are kept between runs, the rest describes the run that wrote it last."""

    ports: dict[str, int] = msgspec.field(default_factory=dict)
    supervisor: ProcessId | None = None
    children: list[Condition] = msgspec.field(default_factory=list)

    def alive(self) -> bool:
        return self.supervisor is not None and self.supervisor.alive()


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self.secrets = self.path / "secrets.json"
        self._state = self.path / "state.json"
        self._lock = self.path / "lock"

    @classmethod
    def default(cls) -> Path:
        if chosen := os.environ.get("STEAD_DATA"):
            return Path(chosen)
        if os.geteuid() == 0:
            return Path("/var/lib/stead/dev")
        shared = os.environ.get("XDG_DATA_HOME")
        return (Path(shared) if shared else Path.home() / ".local" / "share") / "stead" / "dev"

    def exists(self) -> bool:
        return self._state.exists()

    def prepare(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        # For root PostgreSQL runs as another user, who must be able to pass through, not to look around.
        self.path.chmod(0o711 if os.geteuid() == 0 else 0o700)
        self.logs.mkdir(exist_ok=True, mode=0o700)

    def home(self, engine: str) -> Path:
        return self.path / engine

    def record(self) -> Record:
        return read_json(self._state, Record) or Record()

    def keep(self, record: Record) -> None:
        write_json(self._state, record)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises `Taken` while another supervisor lives here."""
        with locked(self._lock, wait=False):
            yield
