"""Valid archives, layers with wrong digests, decompression bombs, and races."""

import contextlib
import io
import subprocess
import tarfile
import threading
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stead.artifacts import digests
from stead.artifacts.fresh_directory import FreshDirectory
from stead.artifacts.limits import MiB, SizeLimits
from stead.artifacts.refusals import ArchiveRefused, ArtifactUntrusted, TreeRefused
from stead.artifacts.unpacker import unpack_layer, unpack_upload
from tests.artifacts.archives import (
    Zipped,
    entry,
    folder,
    gz,
    header,
    pax,
    record,
    streamed,
    symlink,
    tar,
    zipped,
)
from tests.artifacts.trees import File, Tree, everything, layer, noise, read, write

SITE: Tree = {
    "index.html": File(b"<h1>Hello</h1>\n"),
    "assets": {"app.js": File(b"console.log(1)\n" * 20_000), "ünï.txt": File(b"\xff\x00"), "empty": {}},
    "run": File(b"#!/bin/sh\n", executable=True),
    "n" * 200: File(b"long"),
    "noise": File(noise(1, 300_000)),
}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tars_of_every_format_are_unpacked(form: int, mode: str, tmp_path: Path) -> None:
    tree: Tree = {
        name: what for name, what in SITE.items() if len(name) < 100 or form != tarfile.USTAR_FORMAT
    }
    root = write(tree, tmp_path / "tree")
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        archive.add(root, arcname=".")
    unpack_upload(file, tmp_path / "out")
    assert read(tmp_path / "out") == tree


def test_tars_of_gnu_tar_are_unpacked(tmp_path: Path) -> None:
    root = write(SITE, tmp_path / "tree")
    subprocess.run(["/usr/bin/tar", "-C", root, "-czf", tmp_path / "a.tgz", "."], check=True)
    with (tmp_path / "a.tgz").open("rb") as file:
        told = unpack_upload(file, tmp_path / "out")
    assert read(tmp_path / "out") == SITE
    assert (told.files, told.directories) == (6, 2)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("large", [False, True])
def test_zips_are_unpacked(method: int, large: bool, tmp_path: Path) -> None:
    root = write(SITE, tmp_path / "tree")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if path.is_dir():
                archive.write(path, name)
                continue
            about = zipfile.ZipInfo.from_file(path, name)
            about.compress_type = method
            with archive.open(about, "w", force_zip64=large) as entry_file:
                entry_file.write(path.read_bytes())
        archive.comment = b"made by hand"
    unpack_upload(file, tmp_path / "out")
    assert read(tmp_path / "out") == SITE


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def seek(self, *_: object) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


def test_a_streamed_zip_is_unpacked(tmp_path: Path) -> None:
    file = Unseekable()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b", b"hello" * 100)
        archive.writestr("c", b"")
    unpack_upload(io.BytesIO(file.getvalue()), tmp_path / "one")
    assert read(tmp_path / "one") == {"a": {"b": File(b"hello" * 100)}, "c": File(b"")}
    for number, signed in enumerate((True, False)):
        data = zipped(streamed(Zipped(b"x", b"1" * 99), signed=signed), streamed(Zipped(b"y"), signed=signed))
        unpack_upload(io.BytesIO(data), tmp_path / str(number))
        assert read(tmp_path / str(number)) == {"x": File(b"1" * 99), "y": File(b"x")}


def test_the_global_header_of_git_is_ignored(tmp_path: Path) -> None:
    data = tar(pax(record(b"comment", b"0" * 40), kind=b"g"), folder(b"site/"), entry(b"site/a"))
    unpack_upload(io.BytesIO(gz(data)), tmp_path / "out", strip=True)
    assert read(tmp_path / "out") == {"a": File(b"x")}


def test_empty_archives_give_empty_trees(tmp_path: Path) -> None:
    for name, data in {"tar": tar(), "gz": gz(tar()), "zip": zipped()}.items():
        unpack_upload(io.BytesIO(data), tmp_path / name)
        assert read(tmp_path / name) == {}


def test_a_top_level_folder_is_stripped_if_it_is_the_only_entry(tmp_path: Path) -> None:
    one, two = tar(entry(b"top/a"), entry(b"top/b/c")), tar(entry(b"top/a"), entry(b"other"))
    told = unpack_upload(io.BytesIO(one), tmp_path / "one", strip=True)
    unpack_upload(io.BytesIO(two), tmp_path / "two", strip=True)
    unpack_upload(io.BytesIO(one), tmp_path / "kept")
    unpack_upload(io.BytesIO(tar(entry(b"file"))), tmp_path / "file", strip=True)
    assert read(tmp_path / "one") == {"a": File(b"x"), "b": {"c": File(b"x")}}
    assert (told.files, told.directories) == (2, 1)
    assert read(tmp_path / "two") == {"top": {"a": File(b"x")}, "other": File(b"x")}
    assert read(tmp_path / "kept") == {"top": {"a": File(b"x"), "b": {"c": File(b"x")}}}
    assert read(tmp_path / "file") == {"file": File(b"x")}
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two", "kept", "file"}


def test_links_inside_the_archive_are_kept(tmp_path: Path) -> None:
    data = tar(
        symlink(b"top/now", b"v1"), entry(b"top/v1/a"), symlink(b"top/v1/back", b"../now/a"), entry(b"top/b")
    )
    unpack_upload(io.BytesIO(data), tmp_path / "out", strip=True)
    assert (tmp_path / "out" / "now" / "a").read_bytes() == b"x"
    assert (tmp_path / "out" / "v1" / "back").read_bytes() == b"x"
    with pytest.raises(ArchiveRefused):
        unpack_upload(io.BytesIO(data), tmp_path / "other", links="refused")


def test_a_link_to_a_stripped_entry_is_refused(tmp_path: Path) -> None:
    data = tar(entry(b"top/a"), symlink(b"top/up", b"../top/a"))
    unpack_upload(io.BytesIO(data), tmp_path / "whole")
    with pytest.raises(ArchiveRefused) as refused:
        unpack_upload(io.BytesIO(data), tmp_path / "stripped", strip=True)
    assert refused.value.code == "archive.unsafe"
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_an_existing_destination_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("out", "link"):
        with pytest.raises(FileExistsError):
            unpack_upload(io.BytesIO(tar(entry(b"a"))), tmp_path / name)
    assert everything(tmp_path) == {"out": "directory", "link": "-> nowhere"}


def test_setuid_and_open_permissions_are_not_kept(tmp_path: Path) -> None:
    unpack_upload(
        io.BytesIO(tar(entry(b"a", mode=0o6777), entry(b"b", mode=0o666), header(b"d/", b"5", mode=0o1777))),
        tmp_path / "out",
    )
    assert read(tmp_path / "out") == {"a": File(b"x", executable=True), "b": File(b"x"), "d": {}}


def _unpack(blob: bytes, into: Path, packed: object, **other: object) -> None:
    expected = {name: getattr(packed, name) for name in ("digest", "size", "diff_id")} | other
    unpack_layer(io.BytesIO(blob), into, **expected)


def test_a_layer_with_a_wrong_digest_is_not_unpacked(tmp_path: Path) -> None:
    blob, packed = layer(write(SITE, tmp_path / "tree"))
    tampered = blob[:100] + bytes([blob[100] ^ 1]) + blob[101:]
    for data, other in (
        (tampered, {}),
        (blob + b"x", {}),
        (blob, {"size": packed.size + 1}),
        (blob, {"digest": digests.of(b"")}),
        (blob, {"diff_id": digests.of(b"")}),
    ):
        with pytest.raises(ArtifactUntrusted) as refused:
            _unpack(data, tmp_path / "out", packed, **other)
        assert refused.value.code == "artifact.signature_invalid"
        assert [path.name for path in tmp_path.iterdir()] == ["tree"]


class Exchanged(io.BytesIO):
    """A file with other content when it is read a second time."""

    def __init__(self, first: bytes, second: bytes) -> None:
        super().__init__(first)
        self._second, self._times = second, 0

    def seek(self, at: int, whence: int = 0) -> int:
        self._times += 1
        if self._times == 2:
            super().seek(0)
            self.truncate()
            self.write(self._second)
        return super().seek(at, whence)


def test_a_layer_replaced_after_the_check_is_discarded(tmp_path: Path) -> None:
    blob, packed = layer(write(SITE, tmp_path / "tree"))
    other, _ = layer(write({"evil": File(b"x")}, tmp_path / "other"))
    with pytest.raises(ArtifactUntrusted):
        unpack_layer(
            Exchanged(blob, other),
            tmp_path / "out",
            digest=packed.digest,
            size=packed.size,
            diff_id=packed.diff_id,
        )
    assert {path.name for path in tmp_path.iterdir()} == {"tree", "other"}


class Endless(io.RawIOBase):
    """A gzip of a tar with one endless file, generated while it is read."""

    def __init__(self) -> None:
        self.given = 0
        self.seek(0)

    def seek(self, at: int, _: int = 0) -> int:
        self._packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        size = b"\x80" + (1 << 50).to_bytes(11, "big")
        self._ready = self._packer.compress(header(b"bomb", size_field=size))
        return at

    def read(self, size: int = -1) -> bytes:
        while len(self._ready) < size:
            self._ready += self._packer.compress(bytes(1 * MiB))
        data, self._ready = self._ready[:size], self._ready[size:]
        self.given += len(data)
        return data


ZEROS = bytes(64 * MiB)
TIGHT = SizeLimits(total_bytes=16 * MiB, file_bytes=16 * MiB)
BOMBS: dict[str, tuple[Callable[[], bytes], SizeLimits]] = {
    "a file that says so": (lambda: gz(header(b"a", size=len(ZEROS)) + ZEROS), TIGHT),
    "headers": (lambda: gz(pax(record(b"comment", bytes(900_000))) * 100), SizeLimits()),
    "zip": (lambda: zipped(Zipped(b"a", ZEROS)), TIGHT),
    "zip that lies": (lambda: zipped(Zipped(b"a", ZEROS, size=10)), TIGHT),
    "proportion": (
        lambda: gz(header(b"a", size=len(ZEROS)) + ZEROS),
        SizeLimits(ratio=100, ratio_from=8 * MiB),
    ),
    "padding": (lambda: gz(tar() + ZEROS), SizeLimits()),
}


@pytest.mark.parametrize(("make", "limits"), BOMBS.values(), ids=BOMBS.keys())
def test_a_decompression_bomb_uses_little_memory(
    make: Callable[[], bytes], limits: SizeLimits, tmp_path: Path
) -> None:
    data = make()
    assert len(data) < 2 * MiB
    tracemalloc.start()
    with pytest.raises(ArchiveRefused):
        unpack_upload(io.BytesIO(data), tmp_path / "out", limits=limits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * MiB
    assert not list(tmp_path.iterdir())


def test_a_decompression_bomb_in_a_layer_uses_little_memory(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    with (root / "zeros").open("wb") as file:
        file.truncate(256 * MiB)
    blob, packed = layer(root, SizeLimits())
    assert packed.size < 1 * MiB
    tracemalloc.start()
    with pytest.raises(ArchiveRefused):
        _unpack(blob, tmp_path / "out", packed, limits=SizeLimits(file_bytes=16 * MiB))
    with pytest.raises(ArchiveRefused):
        _unpack(blob, tmp_path / "out", packed, limits=SizeLimits(ratio=100))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * MiB
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_an_endless_archive_is_stopped_early(tmp_path: Path) -> None:
    endless = Endless()
    with pytest.raises(ArchiveRefused) as refused:
        unpack_upload(endless, tmp_path / "out")  # type: ignore[arg-type]
    assert refused.value.code == "archive.too_large"
    assert endless.given < 1 * MiB


def test_a_directory_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    """Another process replaces directories of the unfinished tree as fast as they appear."""
    outside, home = tmp_path / "outside", tmp_path / "home"
    outside.mkdir()
    home.mkdir()
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for fresh in home.glob(".out.*"):
                for victim in fresh.glob("d*"):
                    try:
                        victim.rename(victim.with_name("moved" + victim.name))
                        victim.symlink_to(outside)
                    except OSError:
                        continue

    swapper = threading.Thread(target=swap)
    swapper.start()
    attempts = disturbed = 0
    data = tar(*(entry(b"d%d/%d" % (n % 7, n)) for n in range(700)))
    try:
        while attempts < 40 and disturbed < 5:
            attempts += 1
            try:
                unpack_upload(io.BytesIO(data), home / "out")
            except OSError:
                disturbed += 1
            else:
                (home / "out").rename(tmp_path / f"{attempts}")
    finally:
        done.set()
        swapper.join(30)
    assert disturbed
    assert not list(outside.iterdir())


def test_a_failed_unpacking_leaves_nothing(tmp_path: Path) -> None:
    def fails() -> Iterator[bytes]:
        yield b"some"
        raise OSError("the disk is full")

    def attempt() -> None:
        with FreshDirectory(tmp_path / "out") as fresh:
            fresh.add_file("a/b/c", [b"x"])
            fresh.add_file("a/d", fails())

    with pytest.raises(OSError, match="the disk is full"):
        attempt()
    assert not list(tmp_path.iterdir())
    assert not _open_below(tmp_path)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    blob, packed = layer(write(SITE, tmp_path / "tree"))
    _unpack(blob, tmp_path / "out", packed)
    with pytest.raises(ArchiveRefused):
        unpack_upload(io.BytesIO(tar(entry(b"a/b/c"), entry(b"../x"))), tmp_path / "bad")
    assert not _open_below(tmp_path)


def _open_below(root: Path) -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return [path for path in found if path.startswith(str(root))]


def test_a_tree_that_compresses_too_well_is_neither_packed_nor_unpacked(tmp_path: Path) -> None:
    """A layer of 10 kB must not become 100 MB on every node."""
    root = write({"zeros": File(bytes(100 * MiB))}, tmp_path / "tree")
    with pytest.raises(TreeRefused, match=r"compress to less than 1/200 of their size") as refused:
        layer(root)
    assert refused.value.code == "tree.too_large"
    blob, packed = layer(root, SizeLimits())
    assert packed.size < 20_000
    with pytest.raises(ArchiveRefused, match="more than 200 times larger") as bomb:
        _unpack(blob, tmp_path / "out", packed)
    assert bomb.value.code == "archive.too_large"
    assert not (tmp_path / "out").exists()


def test_a_tree_whose_first_half_compresses_well_is_packed_and_unpacked(tmp_path: Path) -> None:
    """The whole layer counts, not what was read so far: packer and unpacker must agree."""
    tree: Tree = {"a": File(bytes(70 * MiB)), "b": File(noise(1, 1 * MiB))}
    blob, packed = layer(write(tree, tmp_path / "tree"))
    _unpack(blob, tmp_path / "out", packed)
    assert read(tmp_path / "out") == tree


@pytest.mark.parametrize("missing", [1, 4096])
def test_a_layer_that_takes_more_space_than_announced_is_refused(missing: int, tmp_path: Path) -> None:
    """Empty files count too: each takes a block of the disk."""
    tree: Tree = {f"{number}": File(b"") for number in range(20)}
    blob, packed = layer(write({"d": tree}, tmp_path / "tree"))
    assert packed.unpacked_bytes == 21 * 4096
    exact = SizeLimits(unpacked_bytes=packed.unpacked_bytes)
    _unpack(blob, tmp_path / "exact", packed, limits=exact)
    less = SizeLimits(unpacked_bytes=packed.unpacked_bytes - missing)
    with pytest.raises(ArchiveRefused, match="that were announced"):
        _unpack(blob, tmp_path / "less", packed, limits=less)
    assert not (tmp_path / "less").exists()
