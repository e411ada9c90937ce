"""A response in the protocol of PHP-FPM, for when there is no PHP-FPM to give one."""

import struct

_VERSION, _STDOUT, _END_REQUEST, _REQUEST = 1, 6, 3, 1
"""nginx sends one request on each connection, always with the number 1."""


def fastcgi_response(text: str) -> bytes:
    """`text` has headers, an empty line and a body."""
    end = struct.pack("!IB3x", 0, 0)
    return _record(_STDOUT, text.encode()) + _record(_STDOUT, b"") + _record(_END_REQUEST, end)


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("!BBHHBx", _VERSION, kind, _REQUEST, len(content), 0) + content
