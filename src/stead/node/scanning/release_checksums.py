"""The hashes of all files of each release on this node. Nobody may change a release, so a difference is a
finding."""

import hashlib
import os
from pathlib import Path

import msgspec

from stead.node.drivers.layout import write_file
from stead.node.snapshots.tree_scan import Key

_decode = msgspec.msgpack.Decoder(dict[bytes, bytes]).decode


class ReleaseChecksums:
    """`home` is the directory for the lists, `releases` the one of the releases. Blocks."""

    def __init__(self, home: Path, releases: Path) -> None:
        self._home, self._releases = home, releases

    def record(self, name: str) -> dict[Key, bytes]:
        """As the release is now. Also forgets releases that are not here any more."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in self._home.iterdir():
            if not (self._releases / file.name).exists():
                file.unlink(missing_ok=True)
        found = {key: _hash(self._releases / name, key) for key in _list(self._releases / name)}
        packed = {b"/".join(key): digest for key, digest in found.items()}
        write_file(self._home / name, msgspec.msgpack.encode(packed), mode=0o600)
        return found

    def read(self, name: str, folder: str) -> dict[Key, bytes]:
        """Of the files below a folder of the release, with their paths from there."""
        prefix = tuple(os.fsencode(part) for part in folder.split("/"))
        return {
            key[len(prefix) :]: digest
            for key, digest in self._read(name).items()
            if key[: len(prefix)] == prefix
        }

    def _read(self, name: str) -> dict[Key, bytes]:
        try:
            packed = _decode((self._home / name).read_bytes())
        except (FileNotFoundError, msgspec.MsgspecError):
            return self.record(name)
        return {tuple(path.split(b"/")): digest for path, digest in packed.items()}


def _list(release: Path) -> list[Key]:
    found = (
        (Path(folder) / name).relative_to(release) for folder, _, names in os.walk(release) for name in names
    )
    return [tuple(os.fsencode(part) for part in path.parts) for path in found]


def _hash(release: Path, key: Key) -> bytes:
    """Releases have no links."""
    with (release / os.fsdecode(b"/".join(key))).open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
