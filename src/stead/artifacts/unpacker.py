"""An archive becomes a fresh directory, or nothing: every entry is checked before it is written, and what is
written is seen only when all of it was right."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from stead.artifacts import tar_reader, zip_reader
from stead.artifacts.archive_entries import ArchiveEntry, EntryContent
from stead.artifacts.digests import Digest, of_file
from stead.artifacts.fresh_directory import FreshDirectory
from stead.artifacts.limits import LAYER, UPLOAD, SizeLimits
from stead.artifacts.names import EntryKind, EntryNames, NameRefused
from stead.artifacts.refusals import ArchiveRefused, ArtifactUntrusted
from stead.artifacts.streams import ExpansionLimit, TarStream, gunzip, read_plain
from stead.artifacts.zstd_reader import unzstd

Links = Literal["refused", "inside"]
_HOPS = 40


@dataclass(frozen=True, slots=True)
class UnpackedTree:
    files: int
    directories: int
    content_bytes: int


def unpack_layer(
    blob: BinaryIO, into: Path, *, digest: Digest, size: int, diff_id: Digest, limits: SizeLimits = LAYER
) -> UnpackedTree:
    """A layer as `pack` makes it. Nothing of the blob is interpreted before its digest was found right;
    should it be exchanged after that, its content has another digest and is not kept."""
    blob.seek(0)
    if of_file(blob) != (digest, size):
        raise ArtifactUntrusted("the layer is not what its digest says")
    blob.seek(0)
    stream = TarStream(unzstd(blob, ExpansionLimit(limits)))
    with FreshDirectory(into) as fresh:
        work = _Unpacking(fresh, limits, "refused")
        work.take(tar_reader.read_entries(stream))
        if stream.digest() != diff_id:
            raise ArtifactUntrusted("the content of the layer is not what its digest says")
        fresh.keep()
    return work.result()


def unpack_upload(
    archive: BinaryIO,
    into: Path,
    *,
    strip: bool = False,
    links: Links = "inside",
    limits: SizeLimits = UPLOAD,
) -> UnpackedTree:
    """What a customer sent: a tar, a tar.gz or a zip, told by its first bytes. `strip` leaves out the one
    folder that everything is in, if there is one."""
    with FreshDirectory(into) as fresh:
        work = _Unpacking(fresh, limits, links)
        work.take(_members(archive, limits))
        top = work.only_folder() if strip else None
        work.make_links(below=top)
        fresh.keep(only=top)
    return work.result(stripped=top is not None)


def _members(archive: BinaryIO, limits: SizeLimits) -> Iterator[EntryContent]:
    archive.seek(0)
    start = archive.read(512)
    archive.seek(0)
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return zip_reader.read_entries(archive, limits)
    if start.startswith(b"\x1f\x8b"):
        return tar_reader.read_entries(TarStream(gunzip(archive, ExpansionLimit(limits))))
    if start[257:262] == b"ustar" or (start and not start.strip(b"\0")):
        return tar_reader.read_entries(TarStream(read_plain(archive, ExpansionLimit(limits))))
    raise ArchiveRefused("archive.broken", "it is neither a tar, nor a tar.gz, nor a zip")


class _Unpacking:
    def __init__(self, fresh: FreshDirectory, limits: SizeLimits, links: Links) -> None:
        self._fresh, self._limits, self._links_are = fresh, limits, links
        self._names = EntryNames(limits)
        self._links: dict[str, str] = {}
        self._files = self._bytes = 0

    def take(self, contents: Iterable[EntryContent]) -> None:
        for content in contents:
            self._one(content.member, content.pieces)

    def _one(self, member: ArchiveEntry, pieces: Iterator[bytes]) -> None:
        if member.kind is EntryKind.LINK and self._links_are == "refused":
            raise ArchiveRefused("archive.unsafe", "it is a link", member.path)
        if not member.path:
            return
        try:
            self._names.add(member.path, member.kind)
        except NameRefused as refused:
            code: Literal["archive.too_large", "archive.unsafe"] = (
                "archive.too_large" if refused.large else "archive.unsafe"
            )
            raise ArchiveRefused(code, str(refused), member.path) from None
        if member.kind is EntryKind.DIRECTORY:
            self._fresh.directory(member.path)
        elif member.kind is EntryKind.LINK:
            self._links[member.path] = member.target
        else:
            self._file(member, pieces)

    def _file(self, member: ArchiveEntry, pieces: Iterator[bytes]) -> None:
        self._files += 1
        self._bytes += member.size
        if member.size > self._limits.file_bytes:
            raise ArchiveRefused(
                "archive.too_large", f"it is larger than {self._limits.file_bytes} bytes", member.path
            )
        if self._bytes > self._limits.total_bytes:
            raise ArchiveRefused(
                "archive.too_large",
                f"all of it is larger than {self._limits.total_bytes} bytes",
                member.path,
            )
        self._fresh.file(member.path, pieces, executable=member.executable)

    def only_folder(self) -> str | None:
        match list(self._names.top()):
            case [(name, EntryKind.DIRECTORY)]:
                return name
        return None

    def make_links(self, below: str | None) -> None:
        """After everything else, so that no entry can be written through one."""
        root = [] if below is None else [below]
        for path, target in self._links.items():
            self._resolve(path, root)
            self._fresh.link(path, target)

    def _resolve(self, path: str, root: list[str]) -> None:
        """Follow a link as the kernel would, through all others, and never above the root on the way."""
        at: list[str] = []
        rest, hops = path.split("/"), 0
        while rest:
            part = rest.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                if len(at) <= len(root):
                    raise ArchiveRefused("archive.unsafe", "the link leaves the archive", path)
                at.pop()
                continue
            at.append(part)
            here = "/".join(at)
            if self._names.kind(here) is None:
                raise ArchiveRefused("archive.unsafe", "the link leads nowhere", path)
            if (target := self._links.get(here)) is None:
                continue
            hops += 1
            if target.startswith("/"):
                raise ArchiveRefused("archive.unsafe", "the link leaves the archive", path)
            if hops > _HOPS:
                raise ArchiveRefused("archive.unsafe", "the link leads in a circle", path)
            at.pop()
            rest = target.split("/") + rest

    def result(self, *, stripped: bool = False) -> UnpackedTree:
        return UnpackedTree(
            self._files, len(self._names) - self._files - len(self._links) - stripped, self._bytes
        )
