"""Reads zip strictly: the directory at the end and the header before each file must agree, and together with
the files they must make up every byte of the archive."""

import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from stead.artifacts.archive_entries import (
    MAX_TARGET_BYTES,
    ArchiveEntry,
    EntryContent,
    parse_path,
    parse_target,
)
from stead.artifacts.limits import SizeLimits
from stead.artifacts.names import EntryKind
from stead.artifacts.refusals import ArchiveRefused
from stead.artifacts.streams import CHUNK, ExpansionLimit, broken_archive, inflate

_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_CENTRAL = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")
_MAX_COMMENT = 0xFFFF
_ALL16, _ALL32 = 0xFFFF, 0xFFFFFFFF
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _DESCRIPTOR, _PATCH, _STRONG, _MASKED = 0x1, 0x8, 0x20, 0x40, 0x2000
_ZIP64, _UNICODE_PATH = 0x0001, 0x7075
_UNIX = 3


@dataclass(frozen=True, slots=True)
class _DirectoryEntry:
    raw: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    mode: int
    """The Unix mode; 0 if the archive was made on another system."""


def read_entries(file: BinaryIO, limits: SizeLimits) -> Iterator[EntryContent]:
    expansion = ExpansionLimit(limits)
    listed, directory = _read_directory(file, limits)
    at = 0
    for entry in listed:
        if entry.offset != at:
            raise ArchiveRefused("archive.broken", "entries overlap, or something lies between", entry.raw)
        start = _check_local_header(file, entry)
        parsed = _parse_entry(file, entry, start, expansion)
        chunks = (
            iter(()) if parsed.kind is not EntryKind.FILE else _read_content(file, entry, start, expansion)
        )
        yield EntryContent(parsed, chunks)
        for _ in chunks:
            raise RuntimeError("an entry was not read to its end")
        at = _position_after(file, entry, start + entry.packed, directory)
    if at != directory:
        raise broken_archive("something lies between the files and the directory of the archive")


def _read_at(file: BinaryIO, at: int, count: int) -> bytes:
    file.seek(at)
    data = file.read(count)
    if len(data) < count:
        raise broken_archive("the archive ends too early")
    return data


def _read_directory(file: BinaryIO, limits: SizeLimits) -> tuple[list[_DirectoryEntry], int]:
    """The entries of the directory, sorted by their position in the file, and the position of the
    directory."""
    count, size, offset, end = _read_end(file)
    if count > limits.entries:
        raise ArchiveRefused("archive.too_large", f"there are more than {limits.entries} entries")
    if offset + size != end or size > count * (_CENTRAL.size + 4 * _ALL16):
        raise broken_archive("the directory of the archive is not where it should be")
    listed = []
    at = offset
    for _ in range(count):
        entry, at = _read_central_header(file, at, end)
        listed.append(entry)
    if at != end:
        raise broken_archive("the directory of the archive has another length than it says")
    return sorted(listed, key=lambda entry: entry.offset), offset


def _read_end(file: BinaryIO) -> tuple[int, int, int, int]:
    """Number of entries, length of the directory, where it begins and where it must end."""
    length = file.seek(0, 2)
    tail_at = max(0, length - _END.size - _MAX_COMMENT)
    tail = _read_at(file, tail_at, length - tail_at)
    found = tail.rfind(b"PK\5\6")
    if found < 0 or len(tail) - found < _END.size:
        raise broken_archive("the archive has no end")
    _, disk, first, here, count, size, offset, comment = _END.unpack_from(tail, found)
    if found + _END.size + comment != len(tail):
        raise broken_archive("something follows the end of the archive")
    end = tail_at + found
    if _ALL16 in (disk, first, here, count) or _ALL32 in (size, offset):
        disk, first, here, count, size, offset, end = _read_end64(file, end)
    if disk or first or here != count:
        raise broken_archive("it is a part of a larger archive")
    return count, size, offset, end


def _read_end64(file: BinaryIO, end: int) -> tuple[int, int, int, int, int, int, int]:
    if end < _LOCATOR64.size + _END64.size:
        raise broken_archive("the archive has no end")
    magic, disk, at, disks = _LOCATOR64.unpack(_read_at(file, end - _LOCATOR64.size, _LOCATOR64.size))
    if magic != b"PK\6\7" or disk or disks != 1 or at != end - _LOCATOR64.size - _END64.size:
        raise broken_archive("the end of the archive is damaged")
    magic, length, _, _, here, first, count_here, count, size, offset = _END64.unpack(
        _read_at(file, at, _END64.size)
    )
    if magic != b"PK\6\6" or length != _END64.size - 12:
        raise broken_archive("the end of the archive is damaged")
    return here, first, count_here, count, size, offset, at


def _read_central_header(file: BinaryIO, at: int, end: int) -> tuple[_DirectoryEntry, int]:
    if at + _CENTRAL.size > end:
        raise broken_archive("the directory of the archive ends too early")
    (
        magic,
        _,
        system,
        _,
        _,
        flags,
        method,
        _,
        _,
        crc,
        packed,
        size,
        names,
        extras,
        comments,
        disk,
        _,
        mode,
        offset,
    ) = _CENTRAL.unpack(_read_at(file, at, _CENTRAL.size))
    if magic != b"PK\1\2":
        raise broken_archive("the directory of the archive is damaged")
    rest = _read_at(file, at + _CENTRAL.size, names + extras + comments)
    raw, extra = rest[:names], rest[names : names + extras]
    size, packed, offset = _read_zip64(extra, raw, size, packed, offset)
    if disk:
        raise ArchiveRefused("archive.broken", "it lies in another archive", raw)
    unix = mode >> 16 if system == _UNIX else 0
    listed = _DirectoryEntry(raw, flags, method, crc, packed, size, offset, unix)
    _check_entry(listed, extra)
    return listed, at + _CENTRAL.size + len(rest)


def _read_zip64(extra: bytes, raw: bytes, *values: int) -> list[int]:
    """The values, with those that do not fit into 32 bits taken from the ZIP64 field, in order."""
    wide = _parse_extras(extra, raw).get(_ZIP64, b"")
    result = []
    for value in values:
        if value == _ALL32:
            if len(wide) < 8:
                raise ArchiveRefused("archive.broken", "its length is not told", raw)
            value, wide = int.from_bytes(wide[:8], "little"), wide[8:]
        result.append(value)
    return result


def _parse_extras(extra: bytes, raw: bytes) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind in fields or at + 4 + size > len(extra):
            raise ArchiveRefused("archive.broken", "its extra fields are damaged", raw)
        fields[kind] = extra[at + 4 : at + 4 + size]
        at += 4 + size
    return fields


def _check_entry(entry: _DirectoryEntry, extra: bytes) -> None:
    if entry.flags & (_ENCRYPTED | _STRONG | _MASKED):
        raise ArchiveRefused("archive.unsafe", "it is encrypted", entry.raw)
    if entry.flags & _PATCH or entry.method not in (_STORED, _DEFLATED):
        raise ArchiveRefused("archive.broken", "it is compressed in a way we do not know", entry.raw)
    if entry.method == _STORED and entry.packed != entry.size:
        raise ArchiveRefused("archive.broken", "it has two lengths", entry.raw)
    if b"\0" in entry.raw:
        raise ArchiveRefused("archive.unsafe", "the name holds a control character", entry.raw)
    other = _parse_extras(extra, entry.raw).get(_UNICODE_PATH)
    if other is not None and other[5:] != entry.raw:
        raise ArchiveRefused("archive.unsafe", "it has two names", entry.raw)


def _check_local_header(file: BinaryIO, entry: _DirectoryEntry) -> int:
    """Check that the header before the data agrees with the directory, and return where the data begins."""
    magic, _, _, flags, method, _, _, crc, packed, size, names, extras = _LOCAL.unpack(
        _read_at(file, entry.offset, _LOCAL.size)
    )
    if magic != b"PK\3\4":
        raise ArchiveRefused("archive.broken", "it is not where the directory says", entry.raw)
    rest = _read_at(file, entry.offset + _LOCAL.size, names + extras)
    raw, extra = rest[:names], rest[names:]
    if raw != entry.raw or flags != entry.flags or method != entry.method:
        raise ArchiveRefused(
            "archive.broken", "its header and the directory contradict one another", entry.raw
        )
    size, packed = _read_zip64(extra, raw, size, packed)
    local, known = (crc, packed, size), (entry.crc, entry.packed, entry.size)
    # An archive that was streamed has zeros in the header, and a descriptor with the values after the data.
    if local != known and not (flags & _DESCRIPTOR and local == (0, 0, 0)):
        raise ArchiveRefused(
            "archive.broken", "its header and the directory contradict one another", entry.raw
        )
    return entry.offset + _LOCAL.size + len(rest)


def _position_after(file: BinaryIO, entry: _DirectoryEntry, at: int, directory: int) -> int:
    """Where the next entry begins: after the descriptor, if there is one. It must agree with the directory
    too."""
    if not entry.flags & _DESCRIPTOR:
        return at
    tail = _read_at(file, at, max(0, min(24, directory - at)))
    mark = b"PK\7\x08" if tail.startswith(b"PK\7\x08") else b""
    for width in (4, 8):
        values = tail[len(mark) : len(mark) + 4 + 2 * width]
        numbers = values[:4], values[4 : 4 + width], values[4 + width :]
        if [int.from_bytes(number, "little") for number in numbers] == [entry.crc, entry.packed, entry.size]:
            return at + len(mark + values)
    raise ArchiveRefused(
        "archive.broken", "what follows it and the directory contradict one another", entry.raw
    )


def _parse_entry(
    file: BinaryIO, entry: _DirectoryEntry, start: int, expansion: ExpansionLimit
) -> ArchiveEntry:
    path = parse_path(entry.raw)
    kind = stat.S_IFMT(entry.mode)
    directory = entry.raw.endswith(b"/")
    if kind == stat.S_IFLNK and not directory:
        if entry.size > MAX_TARGET_BYTES:
            raise ArchiveRefused("archive.unsafe", "the link leads nowhere", entry.raw)
        target = b"".join(_read_content(file, entry, start, expansion))
        return ArchiveEntry(path, EntryKind.LINK, target=parse_target(target, path))
    if kind not in (0, stat.S_IFDIR if directory else stat.S_IFREG):
        raise ArchiveRefused("archive.unsafe", "it is neither a file nor a directory", entry.raw)
    if directory:
        if entry.size:
            raise ArchiveRefused("archive.broken", "only a file has content", entry.raw)
        if b"".join(_read_content(file, entry, start, expansion)):
            raise ArchiveRefused("archive.broken", "only a file has content", entry.raw)
        return ArchiveEntry(path, EntryKind.DIRECTORY)
    if not path:
        raise ArchiveRefused("archive.broken", "a file is named like a directory", entry.raw)
    return ArchiveEntry(path, EntryKind.FILE, entry.size, bool(entry.mode & stat.S_IXUSR))


def _read_content(
    file: BinaryIO, entry: _DirectoryEntry, start: int, expansion: ExpansionLimit
) -> Iterator[bytes]:
    crc = size = 0
    for chunk in _decompress(file, entry, start, expansion):
        size += len(chunk)
        if size > entry.size:
            raise ArchiveRefused("archive.broken", "it is longer than it says", entry.raw)
        crc = zlib.crc32(chunk, crc)
        yield chunk
    if size != entry.size:
        raise ArchiveRefused("archive.broken", "it is shorter than it says", entry.raw)
    if crc != entry.crc:
        raise ArchiveRefused("archive.broken", "its checksum is another", entry.raw)


def _decompress(
    file: BinaryIO, entry: _DirectoryEntry, start: int, expansion: ExpansionLimit
) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wbits=-15)
    at, left = start, entry.packed
    while left:
        data = _read_at(file, at, min(left, CHUNK))
        at, left = at + len(data), left - len(data)
        expansion.bytes_in += len(data)
        if entry.method == _STORED:
            expansion.add_output(len(data))
            yield data
            continue
        yield from inflate(inflater, data, expansion)
        if inflater.eof and (left or inflater.unused_data):
            raise ArchiveRefused("archive.broken", "something follows its compressed data", entry.raw)
    if entry.method == _DEFLATED and not inflater.eof:
        raise ArchiveRefused("archive.broken", "its compressed data ends too early", entry.raw)
