"""The same tree always gives the same bytes; anything but files and directories is refused."""

import io
import os
import socket
import tarfile
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings

from stead.artifacts import digests
from stead.artifacts.limits import MiB, SizeLimits
from stead.artifacts.packer import pack_layer
from stead.artifacts.refusals import TreeRefused
from stead.artifacts.unpacker import unpack_layer
from tests.artifacts.trees import File, Tree, composed, layer, noise, read, trees, write

SITE: Tree = {
    "index.html": File(b"<h1>Hello</h1>\n"),
    "assets": {"app.js": File(b"console.log(1)\n" * 4000), "empty": {}, "ünï.txt": File(b"\xff\x00")},
    "cgi": File(b"#!/bin/sh\n", executable=True),
    "l" * 150: File(b"long"),
}
SITE_DIFF_ID = "sha256:8a34cfadfbeef9aac47cbea1a316a9b07a76203d576b9233235e25e5092c18d9"
SITE_DIGEST = "sha256:9610f933c2b2afb261e0c074b4f065553935c67d115eaf9c8655abd9e26e3efe"


@given(trees)
@settings(max_examples=60)
def test_packing_and_unpacking_gives_the_same_tree(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as place:
        blob, packed = layer(write(tree, Path(place, "tree")))
        told = unpack_layer(
            io.BytesIO(blob),
            Path(place, "out"),
            digest=packed.digest,
            size=packed.size,
            diff_id=packed.diff_id,
        )
        assert read(Path(place, "out")) == tree
        assert (told.files, told.directories) == (packed.files, packed.directories)


@given(trees)
@settings(max_examples=60)
def test_order_times_umask_owner_and_links_do_not_change_the_layer(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as place:
        first, _ = layer(write(tree, Path(place, "first")))
        before = os.umask(0o077)
        try:
            other = write(tree, Path(place, "second"), backwards=True)
        finally:
            os.umask(before)
        for number, path in enumerate(sorted(other.rglob("*"), reverse=True)):
            os.utime(path, (number, 10_000_000 + number))
            if os.geteuid() == 0:
                os.chown(path, 1000 + number, 2000)
        assert layer(other)[0] == first


def test_the_bytes_of_a_known_tree_do_not_change(tmp_path: Path) -> None:
    """It fails if another version of zstd compresses differently. Only the second digest may ever change."""
    _, packed = layer(write(SITE, tmp_path / "tree"))
    assert packed.diff_id == SITE_DIFF_ID
    assert packed.digest == SITE_DIGEST


def test_the_reported_sizes_and_digests_are_correct(tmp_path: Path) -> None:
    blob, packed = layer(write(SITE, tmp_path / "tree"))
    tar = zstandard.ZstdDecompressor().decompressobj().decompress(blob)
    assert (packed.digest, packed.size) == (digests.of(blob), len(blob))
    assert (packed.diff_id, packed.tar_size) == (digests.of(tar), len(tar))
    assert (packed.files, packed.directories) == (5, 2)
    assert packed.content_bytes == sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())


def test_python_reads_the_same_tar_and_it_contains_no_trace_of_the_machine(tmp_path: Path) -> None:
    blob, _ = layer(write(SITE, tmp_path / "tree"))
    tar = zstandard.ZstdDecompressor().decompressobj().decompress(blob)
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        found = archive.getmembers()
        assert [member.name for member in found] == [
            "assets",
            "assets/app.js",
            "assets/empty",
            "assets/ünï.txt",
            "cgi",
            "index.html",
            "l" * 150,
        ]
        assert {(member.uid, member.gid, member.uname, member.gname, member.mtime) for member in found} == {
            (0, 0, "", "", 0)
        }
        assert [member.mode for member in found] == [0o755, 0o644, 0o755, 0o644, 0o755, 0o644, 0o644]
        content = archive.extractfile("assets/app.js")
        assert content is not None
        assert content.read() == b"console.log(1)\n" * 4000


def test_a_tree_that_is_much_larger_than_a_chunk_is_packed(tmp_path: Path) -> None:
    tree: Tree = {f"{number}.bin": File(noise(number, 700_001)) for number in range(9)}
    blob, packed = layer(write(tree, tmp_path / "tree"))
    into = tmp_path / "out"
    unpack_layer(io.BytesIO(blob), into, digest=packed.digest, size=packed.size, diff_id=packed.diff_id)
    assert read(into) == tree


def test_a_link_to_a_file_inside_becomes_a_copy_of_it(tmp_path: Path) -> None:
    root = write({"real": {"page.html": File(b"page")}, "deep": {"er": {}}}, tmp_path / "tree")
    (root / "deep" / "alias.html").symlink_to("../real/page.html")
    (root / "deep" / "er" / "twice").symlink_to("../alias.html")
    (root / "through").symlink_to("./deep/er/../alias.html")
    plain = write(
        {
            "real": {"page.html": File(b"page")},
            "deep": {"er": {"twice": File(b"page")}, "alias.html": File(b"page")},
            "through": File(b"page"),
        },
        tmp_path / "plain",
    )
    assert layer(root)[0] == layer(plain)[0]


def _outside(root: Path) -> None:
    (root.parent / "secret").write_text("secret")
    (root / "bad").symlink_to("../secret")


def _outside_by_a_detour(root: Path) -> None:
    """The text of the link stays inside the tree, but its target does not."""
    (root.parent / "secret").write_text("secret")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "here").symlink_to("..")
    (root / "bad").symlink_to("deep/er/here/../../secret")


def _through_a_link_outside(root: Path) -> None:
    (root.parent / "elsewhere").mkdir()
    (root.parent / "elsewhere" / "secret").write_text("secret")
    (root / "zz").symlink_to("../elsewhere")
    (root / "bad").symlink_to("zz/secret")


def _circle(root: Path) -> None:
    (root / "bad").symlink_to("other")
    (root / "other").symlink_to("bad")


def _socket(root: Path) -> None:
    before = Path.cwd()
    os.chdir(root)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("bad")
    finally:
        os.chdir(before)


def _undecodable(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xff")).write_text("x")


def _twins(first: str, second: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (root / first).write_text("1")
        (root / second).write_text("2")

    return make


@pytest.mark.parametrize(
    ("make", "code", "named"),
    [
        (lambda root: os.mkfifo(root / "bad"), "tree.unsafe", "bad"),
        (_socket, "tree.unsafe", "bad"),
        (lambda root: (root / "bad").symlink_to("/etc/hostname"), "tree.unsafe", "bad"),
        (lambda root: (root / "bad").symlink_to("/dev/null"), "tree.unsafe", "bad"),
        (lambda root: (root / "bad").symlink_to("."), "tree.unsafe", "bad"),
        (lambda root: (root / "bad").symlink_to("nothing"), "tree.unsafe", "bad"),
        (_outside, "tree.unsafe", "bad"),
        (_outside_by_a_detour, "tree.unsafe", "bad"),
        (_through_a_link_outside, "tree.unsafe", "bad"),
        (_circle, "tree.unsafe", "bad"),
        (_undecodable, "tree.unsafe", r"bad\xff"),
        (lambda root: (root / "bad\nname").write_text("x"), "tree.unsafe", r"bad\nname"),
        (lambda root: (root / "bad\x7f").write_text("x"), "tree.unsafe", r"bad\x7f"),
        (lambda root: (root / "bad\\name").write_text("x"), "tree.unsafe", r"bad\name"),
        (lambda root: (root / "C:").write_text("x"), "tree.unsafe", "C:"),
        (_twins("Readme", "README"), "tree.unsafe", "Readme"),
        (_twins("straße", "STRASSE"), "tree.unsafe", "straße"),
        (_twins(*composed("café")), "tree.unsafe", "café"),
    ],
)
def test_a_tree_with_an_unsafe_entry_is_refused_with_its_name(
    make: Callable[[Path], None], code: str, named: str, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    make(root)
    with pytest.raises(TreeRefused) as refused:
        layer(root)
    assert (refused.value.code, refused.value.name) == (code, named)
    assert refused.value.reason in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_refused(tmp_path: Path) -> None:
    os.mknod(tmp_path / "null", 0o600 | 0o020000, os.makedev(1, 3))
    with pytest.raises(TreeRefused) as refused:
        layer(tmp_path)
    assert (refused.value.code, refused.value.name) == ("tree.unsafe", "null")


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (SizeLimits(file_bytes=9), "b"),
        (SizeLimits(total_bytes=14), "d/e/f"),
        (SizeLimits(entries=3), "d/e/f"),
        (SizeLimits(depth=2), "d/e/f"),
        (SizeLimits(path_bytes=4), "d/e/f"),
    ],
)
def test_a_tree_beyond_a_limit_is_refused_with_the_entry(
    limits: SizeLimits, named: str, tmp_path: Path
) -> None:
    root = write({"b": File(b"x" * 10), "d": {"e": {"f": File(b"12345")}}}, tmp_path / "t")
    with pytest.raises(TreeRefused) as refused:
        pack_layer(root, io.BytesIO(), limits)
    assert (refused.value.code, refused.value.name) == ("tree.too_large", named)


class Slow(io.BytesIO):
    """An output file that calls a function when the first bytes arrive."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile: Callable[[], object] | None = meanwhile

    def write(self, data: object) -> int:
        if self._meanwhile is not None:
            self._meanwhile()
            self._meanwhile = None
        return super().write(data)  # type: ignore[arg-type]


def _large(root: Path) -> Path:
    path = root / "m.bin"
    path.write_bytes(noise(2, 12 * MiB))
    old = time.time() - 100
    os.utime(path, (old, old))
    return path


def test_a_file_that_changes_while_it_is_packed_is_refused(tmp_path: Path) -> None:
    def grow(path: Path) -> None:
        with path.open("ab") as file:
            file.write(b"more")

    def rewrite(path: Path) -> None:
        with path.open("r+b") as file:
            file.write(b"other")

    for number, change in enumerate((grow, rewrite, lambda path: os.truncate(path, 9 * MiB))):
        root = tmp_path / str(number)
        root.mkdir()
        path = _large(root)
        with pytest.raises(TreeRefused) as refused:
            pack_layer(root, Slow(lambda change=change, path=path: change(path)))  # type: ignore[misc]
        assert (refused.value.code, refused.value.name) == ("tree.changed", "m.bin")


def test_a_directory_that_changes_while_it_is_packed_is_refused(tmp_path: Path) -> None:
    _large(tmp_path)
    with pytest.raises(TreeRefused) as refused:
        pack_layer(tmp_path, Slow(lambda: (tmp_path / "new").write_text("x")))
    assert refused.value.code == "tree.changed"


def test_a_file_replaced_by_a_pipe_or_a_link_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    root = tmp_path / "tree"
    root.mkdir()
    _large(root)
    for exchange in (lambda path: os.mkfifo(path), lambda path: path.symlink_to(secret)):
        victim = root / "z"
        victim.unlink(missing_ok=True)
        victim.write_text("x")

        def swap(victim: Path = victim, exchange: Callable[[Path], object] = exchange) -> None:
            victim.unlink()
            exchange(victim)

        with pytest.raises(TreeRefused) as refused:
            pack_layer(root, Slow(swap))
        assert refused.value.name == "z"


def test_packing_needs_little_memory(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        for number in range(64):
            file.write(noise(number, 1 * MiB))
    tracemalloc.start()
    with (tmp_path.parent / f"{tmp_path.name}.layer").open("wb") as out:
        pack_layer(tmp_path, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * MiB


def test_concurrent_packing_gives_the_same_result(tmp_path: Path) -> None:
    root = write(SITE, tmp_path / "tree")
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(layer(root)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert len(set(found)) == 1
