"""Why a snapshot could not be taken, verified or restored: the error codes of a node's refusals."""

from stead.node.drivers.driver import Refusal

STORE_UNAVAILABLE = "backup.store_unavailable"
DAMAGED = "backup.damaged"
UNVERIFIED = "backup.unverified"
DISK_FULL = "backup.disk_full"
PASSWORD_WRONG = "backup.password_wrong"  # noqa: S105
INTERRUPTED = "backup.interrupted"
UNSUPPORTED = "backup.unsupported_content"


class SnapshotFailed(Refusal):
    """The message says why. Nothing that was stored counts as a snapshot, and the work can be repeated."""


class ContentTooLarge(SnapshotFailed):
    """What is restored does not fit on the disk of its site."""
