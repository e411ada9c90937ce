"""Identifiers: a type prefix and 26 characters that sort by creation time and contain the cell.

The 26 characters are ten of time (milliseconds), two of the cell and fourteen random ones. Identifiers of one
process are strictly ascending, so lists can be paginated by id alone. From the cell, a router knows where to
send a request without a lookup.
"""

import hashlib
import re
import secrets
import threading
import time
from datetime import datetime
from typing import NewType

AccountId = NewType("AccountId", str)
KeyId = NewType("KeyId", str)
SessionId = NewType("SessionId", str)
RequestId = NewType("RequestId", str)

TeamId = NewType("TeamId", str)
ProjectId = NewType("ProjectId", str)
SiteId = NewType("SiteId", str)
EnvironmentId = NewType("EnvironmentId", str)
JobId = NewType("JobId", str)
EndpointId = NewType("EndpointId", str)
DeliveryId = NewType("DeliveryId", str)
UploadId = NewType("UploadId", str)
BuildId = NewType("BuildId", str)
ArtifactId = NewType("ArtifactId", str)
DeploymentId = NewType("DeploymentId", str)
DomainId = NewType("DomainId", str)
SnapshotId = NewType("SnapshotId", str)
FunctionId = NewType("FunctionId", str)
FunctionVersionId = NewType("FunctionVersionId", str)
ScanId = NewType("ScanId", str)
DetectionId = NewType("DetectionId", str)

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in ALPHABET for b in ALPHABET]
_RANDOM_BITS = 70
_LAST_PAIRS = (1 << 20) - 1
_SHAPE = re.compile(rf"([a-z]+)_[{ALPHABET}]{{26}}")


class IdGenerator:
    """Generates the identifiers of one process."""

    def __init__(self) -> None:
        self.cell = 0
        self._lock = threading.Lock()
        self._millisecond = 0
        self._random = 0
        self._stem = ""

    def set_cell(self, cell: int) -> None:
        """Sets the cell that the process belongs to. Called once, at startup."""
        if not 0 <= cell < len(_PAIRS):
            raise ValueError(f"a cell is a number from 0 to {len(_PAIRS) - 1}")
        self.cell = cell

    def __call__(self, prefix: str) -> str:
        with self._lock:
            now = time.time_ns() // 1_000_000
            if now > self._millisecond:
                self._millisecond, self._random = now, secrets.randbits(_RANDOM_BITS - 1)
                self._encode_stem()
            else:
                self._random += 1
                if not self._random & _LAST_PAIRS:
                    self._encode_stem()
            stem, number = self._stem, self._random
        return f"{prefix}_{stem}{_PAIRS[number >> 10 & 1023]}{_PAIRS[number & 1023]}"

    def _encode_stem(self) -> None:
        """The stem is everything except the last two pairs: only those change within a millisecond."""
        time_part, random_part = _encode(self._millisecond, pairs=5), _encode(self._random >> 20, pairs=5)
        self._stem = f"{time_part}{_PAIRS[self.cell]}{random_part}"


def _encode(number: int, *, pairs: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(10 * (pairs - 1), -1, -10)])


def derive_id(prefix: str, moment: datetime, name: str) -> str:
    """Returns always the same identifier for something with this moment and name."""
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest()) & ((1 << _RANDOM_BITS) - 1)
    return f"{lower_bound(prefix, moment)}{_PAIRS[new_id.cell]}{_encode(digest, pairs=7)}"


def lower_bound(prefix: str, moment: datetime) -> str:
    """Returns a text that sorts after every identifier created before this moment, and before all others."""
    return f"{prefix}_{_encode(int(moment.timestamp() * 1000), pairs=5)}"


def has_shape(prefix: str, value: str) -> bool:
    """Whether `value` has the format of an identifier of this type. Checked before any query."""
    match = _SHAPE.fullmatch(value)
    return match is not None and match[1] == prefix


new_id = IdGenerator()
