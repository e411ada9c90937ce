"""Work that takes, verifies and restores snapshots."""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from stead.protocol.work.base import Amount, RuntimeWork, WorkStruct
from stead.protocol.work.hosting import DatasetName, WordPressSettings


class RepositoryAccess(WorkStruct, frozen=True):
    """The repository of a site's snapshots, and how this work may use it."""

    secret_fields: ClassVar[tuple[str, ...]] = ("url", "password")

    url: str
    """Of the repository gateway, with a token in its path: `https://host/r/<token>/`. The token names the
    site, what may be done, how much may be added, and until when."""
    password: str


SnapshotId = Annotated[str, Meta(pattern=r"^snap_[0-9a-zA-Z]{1,40}$(?!\n)")]
ResticId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
ManifestDigest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")]


class SnapshotTaken(Struct, frozen=True, tag="snapshot_taken"):
    """What a node reports about a snapshot. Nothing is known to be restorable before `VerifySnapshot`."""

    restic_id: ResticId
    manifest_digest: ManifestDigest
    """`sha256:` and the hash of `manifest.json` in the snapshot."""
    size_bytes: Amount
    """Of everything in it, when it is restored."""
    added_bytes: Amount
    """That were not in the repository before, as stored."""
    files: Amount = 0
    rows: Amount = 0


class SnapshotVerified(Struct, frozen=True, tag="snapshot_verified"):
    """The snapshot was restored and compared with its manifest."""

    files: Amount = 0
    rows: Amount = 0
    booted: bool = False
    """WordPress has answered for its front page."""


class TakeSnapshot(RuntimeWork, frozen=True, tag="take_snapshot"):
    """A snapshot with this id is in the repository of the site: database, files and manifest, as they were at
    some time during the work. If it was there already, that one is returned."""

    result_type = SnapshotTaken
    has_own_limit = True

    repository: RepositoryAccess
    snapshot: SnapshotId
    document: bytes = b""
    """Copied into the manifest: what the control plane needs to restore the site. It holds no secrets."""


class VerifySnapshot(RuntimeWork, frozen=True, tag="verify_snapshot"):
    """The snapshot was restored out of sight, compared with its manifest, and discarded. One that is damaged
    is refused with `backup.damaged`, and one whose WordPress does not answer with `backup.unverified`."""

    result_type = SnapshotVerified
    has_own_limit = True

    repository: RepositoryAccess
    snapshot: SnapshotId
    restic_id: ResticId
    manifest_digest: str
    wordpress: WordPressSettings | None = None
    """For the runtime `cms`: what the restored site may use."""
    boot: bool = True
    """Whether WordPress is started, without network, and its front page requested."""


class RestoreSnapshot(RuntimeWork, frozen=True, tag="restore_snapshot"):
    """The environment has another dataset beside the one that it serves, with the content of the snapshot,
    compared with its manifest. Visitors do not see it before `EnsureEnvironment` names it."""

    has_own_limit = True

    repository: RepositoryAccess
    snapshot: SnapshotId
    restic_id: ResticId
    manifest_digest: str
    dataset: DatasetName
    wordpress: WordPressSettings | None = None
    """None only for the simulator."""
    hosts: tuple[str, ...] = ()
    """The hosts of the site when the snapshot was taken. In the restored content they are replaced by the
    host of the environment."""
