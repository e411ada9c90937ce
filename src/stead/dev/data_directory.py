"""The data directory of a stack, and its record of assigned ports and running processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stead.dev.child_process import ChildStatus
from stead.dev.files import file_lock, read_json, write_json
from stead.dev.process_identity import ProcessId


class StackRecord(msgspec.Struct):
    """`state.json`. The ports are kept between runs; the other fields describe the latest run."""

    ports: dict[str, int] = msgspec.field(default_factory=dict)
    supervisor: ProcessId | None = None
    children: list[ChildStatus] = msgspec.field(default_factory=list)

    def is_running(self) -> bool:
        return self.supervisor is not None and self.supervisor.is_alive()


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

    def create(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        # If started by root, PostgreSQL runs as another user, who must be able to enter but not to list it.
        self.path.chmod(0o711 if os.geteuid() == 0 else 0o700)
        self.logs.mkdir(exist_ok=True, mode=0o700)

    def home(self, program: str) -> Path:
        return self.path / program

    def load_record(self) -> StackRecord:
        if self.exists() and not self._state.stat().st_size:
            # After a power failure: not every change is durable.
            return StackRecord()
        return read_json(self._state, StackRecord) or StackRecord()

    def save_record(self, record: StackRecord, *, durable: bool = True) -> None:
        write_json(self._state, record, durable=durable)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Raises `LockHeld` if another supervisor runs from this directory."""
        with file_lock(self._lock, wait=False):
            yield
