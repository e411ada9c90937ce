"""Where things lie in a node's data directory, which names may become paths, and files that are never seen
half written."""

import os
import re
from pathlib import Path
from secrets import token_hex

from stead.node.drivers.driver import Refusal
from stead.protocol.work import release_of

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
RELEASE = re.compile(r"[0-9a-f]{64}")
"""The name of an artifact's release; the placeholder is the only other one."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_HOST = 253


def environments(data: Path) -> Path:
    return data / "environments"


def releases(data: Path) -> Path:
    return data / "releases"


def downloads(data: Path) -> Path:
    return data / "downloads"


def edge_store(data: Path) -> Path:
    """The feed's own copy of what the edges are told."""
    return data / "edge.sqlite"


def probe_socket(data: Path) -> Path:
    return data / "run" / "private" / "probe.sock"


def check_identifier(text: str) -> str:
    """Fit to be the name of a file; anything with a dot or a slash is not."""
    if _IDENTIFIER.fullmatch(text) is None:
        raise Refusal("environment.malformed", "the environment's identifier cannot name a directory")
    return text


def release_name(digest: str) -> str:
    """The name of the directory of an artifact's release."""
    name = release_of(digest)
    if RELEASE.fullmatch(name) is None:
        raise Refusal("artifact.signature_invalid", "a digest is `sha256:` and 64 hexadecimal digits")
    return name


def check_host(text: str) -> str:
    if len(text) > _LONGEST_HOST or _HOST.fullmatch(text) is None:
        raise Refusal("route.malformed", "a host is made of lower case letters, digits, hyphens and dots")
    return text


def write_file(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """There as a whole, and still there after a power cut, when this returns."""
    fresh = fresh_name(path)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    fresh.replace(path)
    sync_directory(path.parent)


def fresh_name(path: Path) -> Path:
    """Beside the path and nobody else's. The dot keeps it out of every listing and of the edge's sight."""
    return path.with_name(f".{path.name}.{token_hex(8)}")


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def list_names(directory: Path) -> list[str]:
    """The names in it; none when it is not there."""
    try:
        return sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []
