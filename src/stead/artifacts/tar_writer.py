"""Tar headers that depend only on name, kind, length and executability: ustar, and pax where necessary."""

BLOCK = 512
END = bytes(2 * BLOCK)

_FILE, _DIRECTORY, _EXTENDED = b"0", b"5", b"x"
_NAME = 100
# Owner and group 0 without names, and the epoch as time: the layer must not depend on where and when it was
# packed.
_OWNER = b"0000000\0" * 2
_TIME = b"00000000000\0"
_REST = b"ustar\x0000".ljust(BLOCK - 257, b"\0")
_BLANK_CHECKSUM = b" " * 8


def file_header(path: str, size: int, *, executable: bool) -> bytes:
    return _entry(path, b"0000755\0" if executable else b"0000644\0", size, _FILE)


def directory_header(path: str) -> bytes:
    return _entry(path + "/", b"0000755\0", 0, _DIRECTORY)


def padding_size(size: int) -> int:
    return -size % BLOCK


def _entry(path: str, mode: bytes, size: int, kind: bytes) -> bytes:
    name = path.encode()
    if len(name) <= _NAME and name.isascii():
        return _block(name, mode, size, kind)
    record = _record(b"path", name)
    return b"".join(
        (
            _block(b"pax", b"0000644\0", len(record), _EXTENDED),
            record,
            bytes(padding_size(len(record))),
            _block(b"entry/" if kind == _DIRECTORY else b"entry", mode, size, kind),
        )
    )


def _block(name: bytes, mode: bytes, size: int, kind: bytes) -> bytes:
    head = b"".join((name.ljust(_NAME, b"\0"), mode, _OWNER, b"%011o\0" % size, _TIME))
    tail = kind + bytes(100) + _REST
    return b"%b%06o\0 %b" % (head, sum(head) + sum(_BLANK_CHECKSUM) + sum(tail), tail)


def _record(key: bytes, value: bytes) -> bytes:
    """A pax record begins with its own length, including the digits of the length."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest
