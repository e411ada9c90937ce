"""Unpacks an archive into a new directory, completely or not at all: every entry is checked before it is
written, and the directory becomes visible only when the whole archive was correct."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from stead.artifacts import tar_reader, zip_reader
from stead.artifacts.archive_entries import ArchiveEntry, EntryContent
from stead.artifacts.digests import Digest, of_file
from stead.artifacts.fresh_directory import FreshDirectory
from stead.artifacts.limits import LAYER, UPLOAD, SizeLimits, unpacked_bytes
from stead.artifacts.names import EntryKind, EntryNames, NameRefused
from stead.artifacts.refusals import ArchiveRefused, ArtifactUntrusted
from stead.artifacts.streams import ExpansionLimit, TarStream, gunzip, read_plain
from stead.artifacts.zstd_reader import unzstd

Links = Literal["refused", "inside"]
_MAX_HOPS = 40


@dataclass(frozen=True, slots=True)
class UnpackedTree:
    files: int
    directories: int
    content_bytes: int


def unpack_layer(
    blob: BinaryIO,
    into: Path,
    *,
    digest: Digest,
    size: int,
    diff_id: Digest,
    limits: SizeLimits = LAYER,
    before_visible: Callable[[Path], None] = lambda _: None,
) -> UnpackedTree:
    """Unpack a layer that `pack_layer` made. The blob is parsed only after its digest was verified. If it is
    replaced after that, its content has another digest and is discarded. `before_visible` gets the complete
    directory before it has its name."""
    blob.seek(0)
    if of_file(blob) != (digest, size):
        raise ArtifactUntrusted("the layer is not what its digest says")
    blob.seek(0)
    stream = TarStream(unzstd(blob, ExpansionLimit(limits, size=size)))
    with FreshDirectory(into) as fresh:
        unpacking = _Unpacking(fresh, limits, "refused")
        unpacking.add_all(tar_reader.read_entries(stream))
        if stream.digest() != diff_id:
            raise ArtifactUntrusted("the content of the layer is not what its digest says")
        before_visible(fresh.path)
        fresh.finish()
    return unpacking.result()


def unpack_upload(
    archive: BinaryIO,
    into: Path,
    *,
    strip: bool = False,
    links: Links = "inside",
    limits: SizeLimits = UPLOAD,
) -> UnpackedTree:
    """Unpack a customer's archive: a tar, a tar.gz or a zip, recognized by its first bytes. `strip` removes
    the top-level folder if everything is in one."""
    with FreshDirectory(into) as fresh:
        unpacking = _Unpacking(fresh, limits, links)
        unpacking.add_all(_read_entries(archive, limits))
        top = unpacking.only_folder() if strip else None
        unpacking.make_links(below=top)
        fresh.finish(only=top)
    return unpacking.result(stripped=top is not None)


def _read_entries(archive: BinaryIO, limits: SizeLimits) -> Iterator[EntryContent]:
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
        self._fresh, self._limits, self._link_policy = fresh, limits, links
        self._names = EntryNames(limits)
        self._links: dict[str, str] = {}
        self._files = self._bytes = 0

    def add_all(self, contents: Iterable[EntryContent]) -> None:
        for content in contents:
            self._add(content.entry, content.chunks)

    def _add(self, entry: ArchiveEntry, chunks: Iterator[bytes]) -> None:
        if entry.kind is EntryKind.LINK and self._link_policy == "refused":
            raise ArchiveRefused("archive.unsafe", "it is a link", entry.path)
        if not entry.path:
            return
        try:
            self._names.add(entry.path, entry.kind)
        except NameRefused as refused:
            code: Literal["archive.too_large", "archive.unsafe"] = (
                "archive.too_large" if refused.large else "archive.unsafe"
            )
            raise ArchiveRefused(code, str(refused), entry.path) from None
        self._bytes += entry.size
        self._check_space(entry)
        if entry.kind is EntryKind.DIRECTORY:
            self._fresh.add_directory(entry.path)
        elif entry.kind is EntryKind.LINK:
            self._links[entry.path] = entry.target
        else:
            self._add_file(entry, chunks)

    def _check_space(self, entry: ArchiveEntry) -> None:
        allowed = self._limits.unpacked_bytes
        if allowed is not None and unpacked_bytes(self._bytes, len(self._names)) > allowed:
            raise ArchiveRefused(
                "archive.too_large", f"it takes more than the {allowed} bytes that were announced", entry.path
            )

    def _add_file(self, entry: ArchiveEntry, chunks: Iterator[bytes]) -> None:
        self._files += 1
        if entry.size > self._limits.file_bytes:
            raise ArchiveRefused(
                "archive.too_large", f"it is larger than {self._limits.file_bytes} bytes", entry.path
            )
        if self._bytes > self._limits.total_bytes:
            raise ArchiveRefused(
                "archive.too_large",
                f"all of it is larger than {self._limits.total_bytes} bytes",
                entry.path,
            )
        self._fresh.add_file(entry.path, chunks, executable=entry.executable)

    def only_folder(self) -> str | None:
        match list(self._names.top_level()):
            case [(name, EntryKind.DIRECTORY)]:
                return name
        return None

    def make_links(self, below: str | None) -> None:
        """Called after all other entries are written, so that no entry is written through a link."""
        root = [] if below is None else [below]
        for path, target in self._links.items():
            self._check_link(path, root)
            self._fresh.add_link(path, target)

    def _check_link(self, path: str, root: list[str]) -> None:
        """Follow a link as the kernel would, through other links, and refuse it if it leaves the root on the
        way."""
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
            if hops > _MAX_HOPS:
                raise ArchiveRefused("archive.unsafe", "the link leads in a circle", path)
            at.pop()
            rest = target.split("/") + rest

    def result(self, *, stripped: bool = False) -> UnpackedTree:
        return UnpackedTree(
            self._files, len(self._names) - self._files - len(self._links) - stripped, self._bytes
        )
