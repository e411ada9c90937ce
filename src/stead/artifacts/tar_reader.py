"""Tar, read strictly: files, directories and links, POSIX and GNU long names, nothing ambiguous."""

from collections.abc import Iterator

from stead.artifacts.archive_entries import ArchiveEntry, EntryContent, parse_path, parse_target
from stead.artifacts.limits import MiB
from stead.artifacts.names import EntryKind
from stead.artifacts.refusals import ArchiveRefused
from stead.artifacts.streams import TarStream, broken

BLOCK = 512
_ZEROS = bytes(BLOCK)
_LARGEST_NOTE = 1 * MiB
_ALL_NOTES = 64 * MiB
"""All extended headers together: they are no content, so no other limit counts them."""

_FILES, _DIRECTORY, _SYMLINK = (b"0", b"\0"), b"5", b"2"
_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_TARGET = b"x", b"g", b"L", b"K"
_NOTES = (_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_TARGET)
_REFUSED = {
    b"1": "it is a hard link",
    b"3": "it is a device",
    b"4": "it is a device",
    b"6": "it is a pipe",
    b"S": "it is a sparse file",
}
_UTF8 = b"ISO-IR 10646 2000 UTF-8"


class _Notes:
    """What extended headers say about the next entry; each thing may be said once."""

    def __init__(self) -> None:
        self.said: dict[str, bytes] = {}
        self.left = _ALL_NOTES

    def say(self, key: str, value: bytes) -> None:
        if key in self.said:
            raise broken("an entry's extended headers contradict one another")
        self.said[key] = value


def read_entries(stream: TarStream) -> Iterator[EntryContent]:
    notes = _Notes()
    while (block := stream.take(BLOCK)) != _ZEROS:
        _check(block)
        kind = block[156:157]
        if kind in _NOTES:
            _note(kind, stream, _number(block[124:136]), notes)
            continue
        member = _member(block, kind, notes.said)
        notes.said = {}
        pieces = stream.some(member.size)
        yield EntryContent(member, pieces)
        for _ in pieces:
            raise RuntimeError("an entry was not read to its end")
        if stream.take(-member.size % BLOCK).strip(b"\0"):
            raise ArchiveRefused("archive.broken", "something follows the end of the file", member.path)
    if notes.said:
        raise broken("the last header describes nothing")
    if stream.take(BLOCK) != _ZEROS:
        raise broken("something follows the end of the archive")
    stream.end_in_zeros()


def _check(block: bytes) -> None:
    if block[257:262] != b"ustar" or block[262:265] not in (b"\x0000", b"  \0"):
        raise broken("a header is not that of a tar")
    if _number(block[148:156]) != sum(block[:148]) + 8 * 32 + sum(block[156:]):
        raise broken("a header is damaged")


def _number(field: bytes) -> int:
    """Octal digits, or what GNU writes when they do not suffice."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.rstrip(b"\0 ").lstrip(b" ")
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise broken("a number in a header is none")
    return int(digits, 8)


def _note(kind: bytes, stream: TarStream, size: int, notes: _Notes) -> None:
    notes.left -= size
    if size > _LARGEST_NOTE or notes.left < 0:
        raise ArchiveRefused("archive.too_large", "the extended headers are too long")
    data = stream.take(size)
    stream.take(-size % BLOCK)
    if kind == _GNU_NAME:
        notes.say("path", data.rstrip(b"\0"))
    elif kind == _GNU_TARGET:
        notes.say("linkpath", data.rstrip(b"\0"))
    else:
        for key, value in _records(data):
            _heed(key, value, notes, everywhere=kind == _PAX_GLOBAL)


def _heed(key: str, value: bytes, notes: _Notes, *, everywhere: bool) -> None:
    if key.startswith("GNU.sparse."):
        raise ArchiveRefused("archive.unsafe", "it holds a sparse file", notes.said.get("path", b""))
    if key == "hdrcharset" and value != _UTF8:
        raise ArchiveRefused("archive.unsafe", "its names are not in UTF-8")
    if key not in ("path", "linkpath", "size"):
        return
    if everywhere:
        raise ArchiveRefused("archive.unsafe", f"one {key} is given to all entries")
    notes.say(key, value)


def _records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """`LENGTH KEY=VALUE\\n`, the length counting itself."""
    at = 0
    while at < len(data):
        digits, space, _ = data[at : at + 8].partition(b" ")
        if not space or not digits.isdigit():
            raise broken("an extended header is damaged")
        end = at + int(digits)
        key, equals, value = data[at + len(digits) + 1 : end - 1].partition(b"=")
        if end > len(data) or not equals or data[end - 1 : end] != b"\n":
            raise broken("an extended header is damaged")
        yield key.decode("utf-8", "replace"), value
        at = end


def _member(block: bytes, kind: bytes, said: dict[str, bytes]) -> ArchiveEntry:
    raw = said.get("path") or _name(block)
    if b"\0" in raw:
        raise ArchiveRefused("archive.unsafe", "the name holds a control character", raw)
    if kind in _REFUSED:
        raise ArchiveRefused("archive.unsafe", _REFUSED[kind], raw)
    if kind not in (*_FILES, _DIRECTORY, _SYMLINK):
        raise ArchiveRefused("archive.unsafe", "it is neither a file nor a directory", raw)
    path, size = parse_path(raw), _size(block, said, raw)
    if kind in _FILES:
        if not path or raw.endswith(b"/"):
            raise ArchiveRefused("archive.broken", "a file is named like a directory", raw)
        return ArchiveEntry(path, EntryKind.FILE, size, bool(_number(block[100:108]) & 0o100))
    if size:
        raise ArchiveRefused("archive.broken", "only a file has content", raw)
    if kind == _DIRECTORY:
        return ArchiveEntry(path, EntryKind.DIRECTORY)
    target = said.get("linkpath") or block[157:257].partition(b"\0")[0]
    return ArchiveEntry(path, EntryKind.LINK, target=parse_target(target, path))


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    if block[262:265] == b"\x0000" and block[345]:
        return block[345:500].partition(b"\0")[0] + b"/" + name
    return name


def _size(block: bytes, said: dict[str, bytes], raw: bytes) -> int:
    size = _number(block[124:136])
    if "size" not in said:
        return size
    if not said["size"].isdigit() or len(said["size"]) > 20:
        raise ArchiveRefused("archive.broken", "its length is no number", raw)
    # Readers differ in which of two lengths they go by; where they disagree, they see different entries.
    if size not in (0, int(said["size"])):
        raise ArchiveRefused("archive.broken", "it has two lengths", raw)
    return int(said["size"])
