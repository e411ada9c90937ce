"""Reads tar strictly: files, directories and links, POSIX and GNU long names, nothing ambiguous."""

from collections.abc import Iterator

from stead.artifacts.archive_entries import ArchiveEntry, EntryContent, parse_path, parse_target
from stead.artifacts.limits import MiB
from stead.artifacts.names import EntryKind
from stead.artifacts.refusals import ArchiveRefused
from stead.artifacts.streams import TarStream, broken_archive

BLOCK = 512
_ZEROS = bytes(BLOCK)
_MAX_EXTENSION_BYTES = 1 * MiB
_MAX_EXTENSIONS_BYTES = 64 * MiB
"""For all extended headers together. No other limit counts them, because they are not content."""

_FILES, _DIRECTORY, _SYMLINK = (b"0", b"\0"), b"5", b"2"
_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_TARGET = b"x", b"g", b"L", b"K"
_EXTENSIONS = (_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_TARGET)
_REFUSED = {
    b"1": "it is a hard link",
    b"3": "it is a device",
    b"4": "it is a device",
    b"6": "it is a pipe",
    b"S": "it is a sparse file",
}
_UTF8 = b"ISO-IR 10646 2000 UTF-8"


class _Extensions:
    """The values that extended headers set for the next entry; each may be set once."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.left = _MAX_EXTENSIONS_BYTES

    def set(self, key: str, value: bytes) -> None:
        if key in self.values:
            raise broken_archive("an entry's extended headers contradict one another")
        self.values[key] = value


def read_entries(stream: TarStream) -> Iterator[EntryContent]:
    extensions = _Extensions()
    while (block := stream.read(BLOCK)) != _ZEROS:
        _check_header(block)
        kind = block[156:157]
        if kind in _EXTENSIONS:
            _read_extension(kind, stream, _number(block[124:136]), extensions)
            continue
        entry = _parse_entry(block, kind, extensions.values)
        extensions.values = {}
        chunks = stream.read_chunks(entry.size)
        yield EntryContent(entry, chunks)
        for _ in chunks:
            raise RuntimeError("an entry was not read to its end")
        if stream.read(-entry.size % BLOCK).strip(b"\0"):
            raise ArchiveRefused("archive.broken", "something follows the end of the file", entry.path)
    if extensions.values:
        raise broken_archive("the last header describes nothing")
    if stream.read(BLOCK) != _ZEROS:
        raise broken_archive("something follows the end of the archive")
    stream.require_padding()


def _check_header(block: bytes) -> None:
    if block[257:262] != b"ustar" or block[262:265] not in (b"\x0000", b"  \0"):
        raise broken_archive("a header is not that of a tar")
    if _number(block[148:156]) != sum(block[:148]) + 8 * 32 + sum(block[156:]):
        raise broken_archive("a header is damaged")


def _number(field: bytes) -> int:
    """Parse octal digits, or the binary format of GNU tar for large numbers."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.rstrip(b"\0 ").lstrip(b" ")
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise broken_archive("a number in a header is none")
    return int(digits, 8)


def _read_extension(kind: bytes, stream: TarStream, size: int, extensions: _Extensions) -> None:
    extensions.left -= size
    if size > _MAX_EXTENSION_BYTES or extensions.left < 0:
        raise ArchiveRefused("archive.too_large", "the extended headers are too long")
    data = stream.read(size)
    stream.read(-size % BLOCK)
    if kind == _GNU_NAME:
        extensions.set("path", data.rstrip(b"\0"))
    elif kind == _GNU_TARGET:
        extensions.set("linkpath", data.rstrip(b"\0"))
    else:
        for key, value in _records(data):
            _apply_record(key, value, extensions, for_all=kind == _PAX_GLOBAL)


def _apply_record(key: str, value: bytes, extensions: _Extensions, *, for_all: bool) -> None:
    if key.startswith("GNU.sparse."):
        raise ArchiveRefused("archive.unsafe", "it holds a sparse file", extensions.values.get("path", b""))
    if key == "hdrcharset" and value != _UTF8:
        raise ArchiveRefused("archive.unsafe", "its names are not in UTF-8")
    if key not in ("path", "linkpath", "size"):
        return
    if for_all:
        raise ArchiveRefused("archive.unsafe", f"one {key} is given to all entries")
    extensions.set(key, value)


def _records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Parse `LENGTH KEY=VALUE\\n`; the length includes its own digits."""
    at = 0
    while at < len(data):
        digits, space, _ = data[at : at + 8].partition(b" ")
        if not space or not digits.isdigit():
            raise broken_archive("an extended header is damaged")
        end = at + int(digits)
        key, equals, value = data[at + len(digits) + 1 : end - 1].partition(b"=")
        if end > len(data) or not equals or data[end - 1 : end] != b"\n":
            raise broken_archive("an extended header is damaged")
        yield key.decode("utf-8", "replace"), value
        at = end


def _parse_entry(block: bytes, kind: bytes, values: dict[str, bytes]) -> ArchiveEntry:
    raw = values.get("path") or _name(block)
    if b"\0" in raw:
        raise ArchiveRefused("archive.unsafe", "the name holds a control character", raw)
    if kind in _REFUSED:
        raise ArchiveRefused("archive.unsafe", _REFUSED[kind], raw)
    if kind not in (*_FILES, _DIRECTORY, _SYMLINK):
        raise ArchiveRefused("archive.unsafe", "it is neither a file nor a directory", raw)
    path, size = parse_path(raw), _size(block, values, raw)
    if kind in _FILES:
        if not path or raw.endswith(b"/"):
            raise ArchiveRefused("archive.broken", "a file is named like a directory", raw)
        return ArchiveEntry(path, EntryKind.FILE, size, bool(_number(block[100:108]) & 0o100))
    if size:
        raise ArchiveRefused("archive.broken", "only a file has content", raw)
    if kind == _DIRECTORY:
        return ArchiveEntry(path, EntryKind.DIRECTORY)
    target = values.get("linkpath") or block[157:257].partition(b"\0")[0]
    return ArchiveEntry(path, EntryKind.LINK, target=parse_target(target, path))


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    if block[262:265] == b"\x0000" and block[345]:
        return block[345:500].partition(b"\0")[0] + b"/" + name
    return name


def _size(block: bytes, values: dict[str, bytes], raw: bytes) -> int:
    size = _number(block[124:136])
    if "size" not in values:
        return size
    if not values["size"].isdigit() or len(values["size"]) > 20:
        raise ArchiveRefused("archive.broken", "its length is no number", raw)
    # Programs differ in which of two lengths they use; with two lengths they would see different entries.
    if size not in (0, int(values["size"])):
        raise ArchiveRefused("archive.broken", "it has two lengths", raw)
    return int(values["size"])
