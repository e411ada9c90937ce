"""What a snapshot of a site contains, as `manifest.json` in the snapshot says it.

| Path in the snapshot | Content |
|---|---|
| `manifest.json` | this |
| `files.list` | a line for each file, directory and link of `files`; only of WordPress sites |
| `database.sql` | the dump of the database; only of WordPress sites |
| `files/` | what the site can write: `wp-content`; only of WordPress sites |

A manifest outlives the version that wrote it. A new field has a default, and unknown fields are ignored.
"""

import hashlib
from io import BufferedReader

import msgspec
from msgspec import Struct

MANIFEST, FILE_LIST, DATABASE, FILES = "manifest.json", "files.list", "database.sql", "files"
MAX_MANIFEST_BYTES = 32 << 20


class ManifestUnreadable(Exception):
    """The text is not a manifest, or not the one that is expected."""


class SnapshotTable(Struct, frozen=True):
    name: str
    rows: int
    checksum: str
    """Of its rows in any order: the sum of their hashes."""


class SnapshotDatabase(Struct, frozen=True):
    bytes: int
    digest: str
    """`sha256:` and the hash of the dump."""
    server: str
    """The version of MariaDB."""
    tables: tuple[SnapshotTable, ...]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


class SnapshotFiles(Struct, frozen=True):
    count: int
    """Of regular files."""
    bytes: int
    digest: str
    """`sha256:` and the hash of `files.list`."""


class SnapshotManifest(Struct, frozen=True):
    snapshot: str
    site: str
    environment: str
    runtime: str
    began_at: int
    """In nanoseconds since 1970, by the clock of the node. What changed later may be in the snapshot as it
    was before or after the change."""
    document: bytes = b""
    """What the control plane needs to restore the site."""
    release: str = ""
    """The digest of the release that the node served; empty if the site has none."""
    php: str = ""
    database: SnapshotDatabase | None = None
    files: SnapshotFiles | None = None
    version: int = 1

    @property
    def size_bytes(self) -> int:
        """Of everything that the snapshot contains, except of the manifest."""
        database = self.database.bytes if self.database else 0
        return database + (self.files.bytes if self.files else 0)


def encode_manifest(manifest: SnapshotManifest) -> bytes:
    return msgspec.json.encode(manifest)


def digest_of(manifest: bytes) -> str:
    return f"sha256:{hashlib.sha256(manifest).hexdigest()}"


def digest_of_file(file: BufferedReader) -> str:
    """Read in pieces: a list of files may be long."""
    return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def read_manifest(data: bytes, digest: str = "") -> SnapshotManifest:
    """Raises ManifestUnreadable, also if it does not have this digest."""
    if digest and digest_of(data) != digest:
        raise ManifestUnreadable("the manifest of the snapshot is not the one that was recorded")
    try:
        return msgspec.json.decode(data, type=SnapshotManifest)
    except msgspec.MsgspecError:
        raise ManifestUnreadable("the manifest of the snapshot cannot be read") from None
