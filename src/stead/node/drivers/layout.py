"""The paths in a node's data directory, checks of names that become paths, and atomic writes of files."""

import os
import re
from pathlib import Path
from secrets import token_hex

from stead.node.drivers.driver import Refusal
from stead.protocol.work.releases import release_of

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
RELEASE = re.compile(r"[0-9a-f]{64}")
"""The name of an artifact's release. The placeholder is the only other name."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_MAX_HOST = 253


def environments(data: Path) -> Path:
    return data / "environments"


def releases(data: Path) -> Path:
    return data / "releases"


def release_rules(data: Path) -> Path:
    return data / "release-rules"


def downloads(data: Path) -> Path:
    return data / "downloads"


def edge_store(data: Path) -> Path:
    """The database of edge records."""
    return data / "edge.sqlite"


def probe_socket(data: Path) -> Path:
    return data / "run" / "private" / "probe.sock"


def check_identifier(text: str) -> str:
    """Refuse an identifier that cannot be the name of a file: no dots and no slashes."""
    if _IDENTIFIER.fullmatch(text) is None:
        raise Refusal("environment.malformed", "the environment's identifier cannot name a directory")
    return text


def release_name(digest: str) -> str:
    """The name of the directory of an artifact's release; refused if it is not a digest."""
    name = release_of(digest)
    if RELEASE.fullmatch(name) is None:
        raise Refusal("artifact.signature_invalid", "a digest is `sha256:` and 64 hexadecimal digits")
    return name


def check_host(text: str) -> str:
    if len(text) > _MAX_HOST or _HOST.fullmatch(text) is None:
        raise Refusal("route.malformed", "a host is made of lower case letters, digits, hyphens and dots")
    return text


def write_file(path: Path, content: bytes, *, mode: int = 0o644, owner: int | None = None) -> None:
    """Write the file atomically, also with regard to its owner. When this returns, it survives a power
    cut."""
    temporary = hidden_name(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if owner is not None:
            os.fchown(descriptor, owner, owner)
        os.fsync(descriptor)
    temporary.replace(path)
    sync_directory(path.parent)


def hidden_name(path: Path) -> Path:
    """A unique name in the same directory. It begins with a dot, so listings and the edge ignore it."""
    return path.with_name(f".{path.name}.{token_hex(8)}")


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_files(*paths: Path) -> None:
    """Remove those that exist. Blocks: the file system frees the blocks of a large file one by one."""
    for path in paths:
        path.unlink(missing_ok=True)


def has_disk(environment: Path) -> bool:
    """Whether a runtime with disks of its own keeps the environment."""
    return any(environment.glob("disk*"))


def list_names(directory: Path) -> list[str]:
    """The visible names in the directory; none when it does not exist."""
    try:
        # Faster than the methods of a path: a node lists thousands of environments every second.
        return sorted(name for name in os.listdir(directory) if not name.startswith("."))  # noqa: PTH208
    except FileNotFoundError:
        return []
