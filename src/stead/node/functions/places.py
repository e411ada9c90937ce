"""Where the functions of a node are kept."""

from pathlib import Path


def home(data: Path) -> Path:
    return data / "functions"


def state_file(data: Path) -> Path:
    return home(data) / "functions.sqlite"


def control_socket(data: Path) -> Path:
    """Where the agent reaches the host of functions."""
    return home(data) / "control.sock"


def compiled(data: Path, version: str) -> Path:
    return home(data) / "compiled" / version


def sockets(data: Path) -> Path:
    """The directory of the sockets on which the edge reaches functions. Its path is short, as the path of a
    socket must be."""
    return data / "fn"


def socket_of(data: Path, version: str) -> Path:
    return sockets(data) / version.removeprefix("fnv_")


def module_file(data: Path, release: str) -> Path:
    return data / "releases" / release / "function.wasm"


def log_file(data: Path, function: str) -> Path:
    return home(data) / "logs" / f"{function}.log"
