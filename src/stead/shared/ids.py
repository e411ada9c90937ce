"""Identifiers: a type prefix and 26 characters that sort by age and name the cell that made them.

The 26 characters are ten of time (milliseconds), two of the cell, fourteen of chance. Within one process
they strictly ascend, so a list pages on the id alone; the cell lets a router send any request home
without asking anybody.
"""

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

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in ALPHABET for b in ALPHABET]
_CHANCE_BITS = 70
_LAST_PAIRS = (1 << 20) - 1
_SHAPE = re.compile(rf"([a-z]+)_[{ALPHABET}]{{26}}")


class Minter:
    """Makes the identifiers of one process."""

    def __init__(self) -> None:
        self.cell = 0
        self._lock = threading.Lock()
        self._millisecond = 0
        self._chance = 0
        self._stem = ""

    def move_to(self, cell: int) -> None:
        """Say, when the process starts, which cell it belongs to."""
        if not 0 <= cell < len(_PAIRS):
            raise ValueError(f"a cell is a number from 0 to {len(_PAIRS) - 1}")
        self.cell = cell

    def __call__(self, prefix: str) -> str:
        with self._lock:
            now = time.time_ns() // 1_000_000
            if now > self._millisecond:
                self._millisecond, self._chance = now, secrets.randbits(_CHANCE_BITS - 1)
                self._spell_stem()
            else:
                self._chance += 1
                if not self._chance & _LAST_PAIRS:
                    self._spell_stem()
            stem, chance = self._stem, self._chance
        return f"{prefix}_{stem}{_PAIRS[chance >> 10 & 1023]}{_PAIRS[chance & 1023]}"

    def _spell_stem(self) -> None:
        """All but the last two pairs: within a millisecond only those change."""
        when, chance = _spell(self._millisecond, pairs=5), _spell(self._chance >> 20, pairs=5)
        self._stem = f"{when}{_PAIRS[self.cell]}{chance}"


def _spell(number: int, *, pairs: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(10 * (pairs - 1), -1, -10)])


def bound(prefix: str, moment: datetime) -> str:
    """Sorts after every identifier made before this moment and before every one made from it on."""
    return f"{prefix}_{_spell(int(moment.timestamp() * 1000), pairs=5)}"


def has_shape(prefix: str, value: str) -> bool:
    """Whether `value` could be an identifier of this type: asked before any query is."""
    match = _SHAPE.fullmatch(value)
    return match is not None and match[1] == prefix


new_id = Minter()
