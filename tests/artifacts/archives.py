"""Makes archives byte by byte, so that they can be wrong in every way."""

import gzip
import struct
import zlib
from dataclasses import dataclass, replace


def octal(number: int, width: int) -> bytes:
    return b"%0*o\0" % (width - 1, number)


def header(
    name: bytes,
    kind: bytes = b"0",
    size: int = 0,
    *,
    mode: int = 0o644,
    target: bytes = b"",
    prefix: bytes = b"",
    magic: bytes = b"ustar\x0000",
    size_field: bytes | None = None,
) -> bytes:
    block = b"".join(
        (
            name.ljust(100, b"\0"),
            octal(mode, 8),
            octal(0, 8) * 2,
            octal(size, 12) if size_field is None else size_field,
            octal(0, 12),
            b" " * 8,
            kind,
            target.ljust(100, b"\0"),
            magic.ljust(8, b"\0"),
            bytes(80),
            prefix.ljust(155, b"\0"),
            bytes(12),
        )
    )
    assert len(block) == 512
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


def entry(name: bytes, content: bytes = b"x", kind: bytes = b"0", **more: object) -> bytes:
    return header(name, kind, len(content), **more) + padded(content)  # type: ignore[arg-type]


def folder(name: bytes) -> bytes:
    return header(name, b"5", mode=0o755)


def symlink(name: bytes, target: bytes) -> bytes:
    return header(name, b"2", target=target)


def record(key: bytes, value: bytes) -> bytes:
    length = len(key) + len(value) + 3
    while len(b"%d" % length) + len(key) + len(value) + 3 != length:
        length += 1
    return b"%d %b=%b\n" % (length, key, value)


def pax(*records: bytes, kind: bytes = b"x") -> bytes:
    return entry(b"pax", b"".join(records), kind)


def tar(*parts: bytes) -> bytes:
    return b"".join(parts) + bytes(1024)


def gz(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


@dataclass(frozen=True)
class Zipped:
    """One entry; values that are None are computed from the content."""

    name: bytes
    content: bytes = b"x"
    mode: int = 0o100644
    method: int = 8
    flags: int = 0
    packed: bytes | None = None
    crc: int | None = None
    size: int | None = None
    local_name: bytes | None = None
    local_size: int | None = None
    local_flags: int | None = None
    local_method: int | None = None
    extra: bytes = b""
    gap: bytes = b""
    descriptor: bytes = b""
    offset: int | None = None
    system: int = 3

    def data(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return deflate(self.content) if self.method == 8 else self.content

    def numbers(self) -> tuple[int, int, int]:
        crc = zlib.crc32(self.content) if self.crc is None else self.crc
        return crc, len(self.data()), len(self.content) if self.size is None else self.size

    def local(self) -> bytes:
        name = self.name if self.local_name is None else self.local_name
        crc, packed, size = self.numbers()
        if self.local_size is not None:
            size = self.local_size
        flags = self.flags if self.local_flags is None else self.local_flags
        method = self.method if self.local_method is None else self.local_method
        told = (0, 0, 0) if self.descriptor else (crc, packed, size)
        head = struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, method, 0, 0, *told, len(name), 0)
        return self.gap + head + name + self.data() + self.descriptor

    def central(self, offset: int) -> bytes:
        return (
            struct.pack(
                "<4s2B5H3L5H2L",
                b"PK\1\2",
                20,
                self.system,
                20,
                self.flags,
                self.method,
                0,
                0,
                *self.numbers(),
                len(self.name),
                len(self.extra),
                0,
                0,
                0,
                self.mode << 16,
                offset + len(self.gap) if self.offset is None else self.offset,
            )
            + self.name
            + self.extra
        )


def zipped(*entries: Zipped, count: int | None = None, between: bytes = b"", comment: bytes = b"") -> bytes:
    body, directory = b"", b""
    for one in entries:
        directory += one.central(len(body))
        body += one.local()
    body += between
    told = len(entries) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, told, told, len(directory), len(body), len(comment))
    return body + directory + end + comment


def streamed(one: Zipped, *, signed: bool = True, lie: bool = False) -> Zipped:
    """A streamed zip: sizes and checksum follow the data."""
    crc, packed, size = one.numbers()
    descriptor = struct.pack("<3L", crc, packed, size + lie)
    return replace(one, flags=one.flags | 8, descriptor=(b"PK\7\x08" if signed else b"") + descriptor)
