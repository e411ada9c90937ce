"""The order of versions, as PHP's `version_compare` has it, with one change: missing parts count as zero.

`version_key` maps a version to bytes whose order is the order of the versions, so that the database can
compare them. "1.0" and "1.0.0" are the same: otherwise a version at the end of a range would be missed.
"""

import re

MAX_LENGTH, MAX_PARTS, MAX_DIGITS = 100, 40, 30
_RANKS = (
    ("dev", 1),
    ("alpha", 2),
    ("a", 2),
    ("beta", 3),
    ("b", 3),
    ("RC", 4),
    ("rc", 4),
    ("pl", 6),
    ("p", 6),
)
_OTHER, _NUMBER = 0, 5
_LESS, _END, _GREATER = b"\x01", b"\x02", b"\x03"
"""Whether the next part that is not zero is less or greater than zero."""
_LEADING = re.compile(r"[vV](?=\d)")
_PART = re.compile(r"\d+|[A-Za-z]+")
_PLAIN = re.compile(r"[A-Za-z0-9._+~ -]+")


def version_key(version: str) -> bytes | None:
    """None if it is no version: nothing can be said about it then."""
    text = _LEADING.sub("", version.strip(), count=1)
    if not text or len(text) > MAX_LENGTH or not _PLAIN.fullmatch(text) or not re.search(r"\d", text):
        return None
    parts = _PART.findall(text)
    if len(parts) > MAX_PARTS:
        return None
    key, zeros = bytearray(), 0
    for part in parts:
        rank, number = _rank(part)
        if rank == _NUMBER and not number:
            zeros += 1
            continue
        if len(number) > MAX_DIGITS:
            return None
        # More zeros bring a version nearer to the one that ends here.
        key += _GREATER + bytes([255 - zeros]) if rank >= _NUMBER else _LESS + bytes([zeros])
        key += bytes([rank, len(number)]) + number.encode()
        zeros = 0
    return bytes(key) + _END


def _rank(part: str) -> tuple[int, str]:
    """The rank of a part, and the digits of a number without leading zeros."""
    if part.isdigit():
        return _NUMBER, part.lstrip("0")
    return next((rank for name, rank in _RANKS if part.startswith(name)), _OTHER), ""
