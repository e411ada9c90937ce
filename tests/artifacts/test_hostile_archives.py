"""Hostile archives are refused with a code, write nothing outside, and leave nothing behind."""

import io
from pathlib import Path

import pytest
import zstandard

from stead.artifacts import digests
from stead.artifacts.limits import MiB, SizeLimits
from stead.artifacts.refusals import ArchiveRefused
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
from tests.artifacts.trees import composed, everything

COMPOSED, DECOMPOSED = (name.encode() for name in composed("café"))
SMALL = SizeLimits(
    total_bytes=1 * MiB,
    file_bytes=512 * 1024,
    entries=20,
    depth=5,
    path_bytes=300,
    ratio=50,
    ratio_from=64 * 1024,
)
UNSAFE, LARGE, BROKEN = "archive.unsafe", "archive.too_large", "archive.broken"
GOOD = entry(b"first.html", b"hello")

TARS: dict[str, tuple[str, bytes]] = {
    "parent": (UNSAFE, tar(GOOD, entry(b"../evil"))),
    "parent in the middle": (UNSAFE, tar(GOOD, entry(b"a/../../evil"))),
    "parent that stays inside": (UNSAFE, tar(GOOD, entry(b"a/../evil"))),
    "parent after a dot": (UNSAFE, tar(GOOD, entry(b"./../evil"))),
    "parent as a directory": (UNSAFE, tar(GOOD, folder(b"../"))),
    "parent by prefix": (UNSAFE, tar(GOOD, entry(b"evil", prefix=b".."))),
    "parent by pax": (UNSAFE, tar(GOOD, pax(record(b"path", b"../evil")), entry(b"fine"))),
    "parent by GNU name": (UNSAFE, tar(GOOD, entry(b"@", b"../evil\0", b"L"), entry(b"fine"))),
    "absolute": (UNSAFE, tar(GOOD, entry(b"/tmp/evil"))),
    "absolute by prefix": (UNSAFE, tar(GOOD, entry(b"evil", prefix=b"/tmp"))),
    "drive letter": (UNSAFE, tar(GOOD, entry(b"C:/evil"))),
    "drive letter without slash": (UNSAFE, tar(GOOD, entry(b"c:evil"))),
    "backslashes": (UNSAFE, tar(GOOD, entry(b"..\\evil"))),
    "empty part": (UNSAFE, tar(GOOD, entry(b"a//b"))),
    "dot in the middle": (UNSAFE, tar(GOOD, entry(b"a/./b"))),
    "no name": (UNSAFE, tar(GOOD, entry(b""))),
    "symlink outside": (UNSAFE, tar(GOOD, symlink(b"out", b"../outside"))),
    "absolute symlink": (UNSAFE, tar(GOOD, symlink(b"out", b"/etc/passwd"))),
    "write through a symlink": (UNSAFE, tar(GOOD, symlink(b"out", b".."), entry(b"out/evil"))),
    "write through a symlink inside": (
        UNSAFE,
        tar(GOOD, folder(b"d/"), symlink(b"in", b"d"), entry(b"in/evil")),
    ),
    "symlink over a directory": (UNSAFE, tar(entry(b"d/x"), symlink(b"d", b".."), entry(b"d/evil"))),
    "symlink replaced by a file": (UNSAFE, tar(GOOD, symlink(b"s", b"first.html"), entry(b"s"))),
    "symlinks that leave together": (
        UNSAFE,
        tar(
            folder(b"deep/"),
            folder(b"deep/er/"),
            symlink(b"deep/er/l", b"."),
            symlink(b"m", b"deep/er/l/../../.."),
        ),
    ),
    "circle of symlinks": (UNSAFE, tar(symlink(b"a", b"b"), symlink(b"b", b"a"))),
    "symlink to nothing": (UNSAFE, tar(GOOD, symlink(b"a", b"nothing"))),
    "symlink without target": (UNSAFE, tar(GOOD, symlink(b"a", b""))),
    "hard link": (UNSAFE, tar(GOOD, header(b"hard", b"1", target=b"first.html"))),
    "hard link outside": (UNSAFE, tar(GOOD, header(b"hard", b"1", target=b"/etc/passwd"))),
    "character device": (UNSAFE, tar(GOOD, header(b"null", b"3"))),
    "block device": (UNSAFE, tar(GOOD, header(b"disk", b"4"))),
    "pipe": (UNSAFE, tar(GOOD, header(b"pipe", b"6"))),
    "unknown kind": (UNSAFE, tar(GOOD, header(b"odd", b"Z"))),
    "continued from another archive": (UNSAFE, tar(GOOD, header(b"odd", b"M"))),
    "the same file twice": (UNSAFE, tar(GOOD, entry(b"a"), entry(b"a"))),
    "the same file twice, once with a dot": (UNSAFE, tar(GOOD, entry(b"a"), entry(b"./a"))),
    "the same directory twice": (UNSAFE, tar(folder(b"d/"), folder(b"d"))),
    "another case": (UNSAFE, tar(entry(b"Readme"), entry(b"README"))),
    "another case of a directory": (UNSAFE, tar(entry(b"A/x"), entry(b"a/y"))),
    "another form of Unicode": (UNSAFE, tar(entry(COMPOSED), entry(DECOMPOSED))),
    "a file below a file": (UNSAFE, tar(entry(b"a"), entry(b"a/b"))),
    "a file in place of a directory": (UNSAFE, tar(entry(b"a/b"), entry(b"a"))),
    "NUL in a name": (UNSAFE, tar(pax(record(b"path", b"a\0b")), entry(b"a"))),
    "line feed in a name": (UNSAFE, tar(entry(b"a\nb"))),
    "escape in a name": (UNSAFE, tar(entry(b"a\x1b[2Jb"))),
    "C1 control in a name": (UNSAFE, tar(entry("a\x9bb".encode()))),
    "not UTF-8": (UNSAFE, tar(entry(b"a\xff"))),
    "surrogate in UTF-8": (UNSAFE, tar(entry(b"a\xed\xa0\x80"))),
    "another character set": (UNSAFE, tar(pax(record(b"hdrcharset", b"BINARY")), entry(b"a"))),
    "a path for all": (UNSAFE, tar(pax(record(b"path", b"evil"), kind=b"g"), entry(b"a"))),
    "a length for all": (UNSAFE, tar(pax(record(b"size", b"0"), kind=b"g"), entry(b"a"))),
    "old sparse file": (UNSAFE, tar(GOOD, header(b"sparse", b"S"))),
    "new sparse file": (
        UNSAFE,
        tar(
            pax(record(b"GNU.sparse.major", b"1"), record(b"GNU.sparse.realsize", b"999999999")), entry(b"a")
        ),
    ),
    "sparse name": (UNSAFE, tar(pax(record(b"GNU.sparse.name", b"../evil")), entry(b"a"))),
    "two paths": (BROKEN, tar(pax(record(b"path", b"a"), record(b"path", b"b")), entry(b"c"))),
    "GNU and pax path": (BROKEN, tar(entry(b"@", b"a\0", b"L"), pax(record(b"path", b"b")), entry(b"c"))),
    "two lengths": (BROKEN, tar(pax(record(b"size", b"1024")), entry(b"a", bytes(512)), entry(b"hidden"))),
    "length that is no number": (BROKEN, tar(pax(record(b"size", b"1e3")), header(b"a"))),
    "negative length": (BROKEN, tar(header(b"a", size_field=b"\xff" * 12), GOOD)),
    "length of letters": (BROKEN, tar(header(b"a", size_field=b"00000zz0000\0"), GOOD)),
    "enormous length": (LARGE, tar(header(b"a", size_field=b"\x80" + b"\x7f" * 11), GOOD)),
    "directory with content": (BROKEN, tar(entry(b"d/", b"x", b"5"))),
    "file named like a directory": (BROKEN, tar(entry(b"d/", b"x"))),
    "file named like the root": (BROKEN, tar(entry(b"./", b"x"))),
    "damaged header": (BROKEN, tar(GOOD, header(b"a").replace(b"a", b"b", 1))),
    "no tar at all in the middle": (BROKEN, tar(GOOD, b"A" * 512)),
    "pax of a wrong length": (BROKEN, tar(entry(b"pax", b"99 path=a\n", b"x"), entry(b"a"))),
    "pax without length": (BROKEN, tar(entry(b"pax", b"path=evil\n", b"x"), entry(b"a"))),
    "pax of length zero": (BROKEN, tar(entry(b"pax", b"0 path=evil\n", b"x"), entry(b"a"))),
    "header about nothing": (BROKEN, tar(GOOD, pax(record(b"path", b"a")))),
    "trailing archive": (BROKEN, tar(GOOD) + tar(entry(b"hidden"))),
    "trailing garbage": (BROKEN, tar(GOOD) + b"garbage"),
    "one zero block, then more": (BROKEN, GOOD + bytes(512) + GOOD + bytes(1024)),
    "padding that is not empty": (BROKEN, tar(header(b"a", size=1) + b"x" + b"y" * 511)),
    "endless padding": (BROKEN, tar(GOOD) + bytes(3 * MiB)),
    "too many entries": (LARGE, tar(*(entry(b"%d" % number) for number in range(21)))),
    "too many implied directories": (LARGE, tar(*(entry(b"%d/a/b" % number) for number in range(8)))),
    "too deep": (LARGE, tar(entry(b"a/b/c/d/e/f"))),
    "too long a name": (LARGE, tar(pax(record(b"path", b"n" * 256)), entry(b"a"))),
    "too long a path": (LARGE, tar(pax(record(b"path", b"/".join([b"n" * 100] * 4))), entry(b"a"))),
    "too large a file": (LARGE, tar(entry(b"a", bytes(512 * 1024 + 1)))),
    "too large together": (LARGE, tar(*(entry(b"%d" % number, bytes(400_000)) for number in range(3)))),
    "too long a header": (LARGE, tar(pax(record(b"comment", b"c" * (MiB + 1))), entry(b"a"))),
}

BOMB = Zipped(b"bomb", bytes(500_000))
ZIPS: dict[str, tuple[str, bytes]] = {
    "parent": (UNSAFE, zipped(Zipped(b"../evil"))),
    "absolute": (UNSAFE, zipped(Zipped(b"/evil"))),
    "drive letter": (UNSAFE, zipped(Zipped(b"D:evil"))),
    "backslashes": (UNSAFE, zipped(Zipped(b"a\\..\\..\\evil"))),
    "NUL": (UNSAFE, zipped(Zipped(b"a\0b"))),
    "not UTF-8": (UNSAFE, zipped(Zipped(b"caf\x82"))),
    "two names by an extra field": (
        UNSAFE,
        zipped(Zipped(b"a", extra=b"\x75\x70\x0c\x00\x01\x00\x00\x00\x00../evil")),
    ),
    "symlink outside": (UNSAFE, zipped(Zipped(b"s", b"../outside", mode=0o120777))),
    "write through a symlink": (
        UNSAFE,
        zipped(Zipped(b"s", b"..", mode=0o120777), Zipped(b"s/evil")),
    ),
    "pipe": (UNSAFE, zipped(Zipped(b"p", b"", mode=0o010644))),
    "device": (UNSAFE, zipped(Zipped(b"p", b"", mode=0o020644))),
    "the same twice": (UNSAFE, zipped(Zipped(b"a"), Zipped(b"a"))),
    "another case": (UNSAFE, zipped(Zipped(b"a"), Zipped(b"A"))),
    "a file below a file": (UNSAFE, zipped(Zipped(b"a"), Zipped(b"a/b"))),
    "encrypted": (UNSAFE, zipped(Zipped(b"a", flags=1))),
    "encrypted directory of the archive": (UNSAFE, zipped(Zipped(b"a", flags=0x2000))),
    "encrypted only in the header": (BROKEN, zipped(Zipped(b"a", local_flags=1))),
    "another name in the header": (BROKEN, zipped(Zipped(b"fine", local_name=b"evil"))),
    "another name of another length": (BROKEN, zipped(Zipped(b"fine", local_name=b"../evil"))),
    "another length in the header": (BROKEN, zipped(Zipped(b"a", local_size=7))),
    "another method in the header": (BROKEN, zipped(Zipped(b"a", local_method=0))),
    "unknown method": (BROKEN, zipped(Zipped(b"a", method=12, packed=b"x"))),
    "wrong checksum": (BROKEN, zipped(Zipped(b"a", crc=1))),
    "longer than it says": (BROKEN, zipped(Zipped(b"a", b"xyz", size=1))),
    "shorter than it says": (BROKEN, zipped(Zipped(b"a", b"xyz", size=5))),
    "stored with two lengths": (BROKEN, zipped(Zipped(b"a", b"xyz", method=0, size=2))),
    "data behind the compressed data": (
        BROKEN,
        zipped(Zipped(b"a", b"xyz", packed=Zipped(b"a", b"xyz").data() + b"hidden")),
    ),
    "damaged data": (BROKEN, zipped(Zipped(b"a", b"xyz", packed=b"\xff\xff\xff"))),
    "unfinished data": (
        BROKEN,
        zipped(Zipped(b"a", b"xyz" * 99, packed=Zipped(b"a", b"xyz" * 99).data()[:-2])),
    ),
    "overlapping": (BROKEN, zipped(Zipped(b"a"), Zipped(b"b", offset=5))),
    "the same bytes for two entries": (BROKEN, zipped(Zipped(b"a"), Zipped(b"a", offset=0))),
    "gap between entries": (BROKEN, zipped(Zipped(b"a"), Zipped(b"b", gap=b"hidden"))),
    "program in front": (BROKEN, zipped(Zipped(b"a", gap=b"PK\3\4hidden"))),
    "gap before the directory": (BROKEN, zipped(Zipped(b"a"), between=b"hidden")),
    "beyond the end": (BROKEN, zipped(Zipped(b"a", offset=0x7FFFFFFF))),
    "trailing garbage": (BROKEN, zipped(Zipped(b"a")) + b"garbage"),
    "trailing archive": (BROKEN, zipped(Zipped(b"a")) + zipped(Zipped(b"b"))),
    "fewer than it says": (BROKEN, zipped(Zipped(b"a"), count=2)),
    "more than it says": (BROKEN, zipped(Zipped(b"a"), Zipped(b"b"), count=1)),
    "descriptor that lies": (BROKEN, zipped(streamed(Zipped(b"a"), lie=True))),
    "directory with content": (BROKEN, zipped(Zipped(b"d/", b"x", mode=0o040755))),
    "too many entries": (LARGE, zipped(*(Zipped(b"%d" % number) for number in range(21)))),
    "says it has far too many": (LARGE, zipped(Zipped(b"a"), count=0xFFFE)),
    "too deep": (LARGE, zipped(Zipped(b"a/b/c/d/e/f"))),
    "too long a name": (LARGE, zipped(Zipped(b"n" * 256))),
    "too large a file": (LARGE, zipped(Zipped(b"a", bytes(600_000)))),
    "out of proportion": (LARGE, zipped(BOMB)),
    "no end": (BROKEN, zipped(Zipped(b"a"))[:-10]),
}

OTHERS: dict[str, tuple[str, bytes]] = {
    "nothing": (BROKEN, b""),
    "text": (BROKEN, b"hello"),
    "rar": (BROKEN, b"Rar!\x1a\x07\x00" + bytes(1000)),
    "gzip of nothing": (BROKEN, gz(b"")),
    "gzip of text": (BROKEN, gz(b"hello" * 300)),
    "gzip with trailing garbage": (BROKEN, gz(tar(GOOD)) + b"garbage"),
    "gzip with a second member": (BROKEN, gz(tar(GOOD)) + gz(tar(entry(b"hidden")))),
    "gzip cut short": (BROKEN, gz(tar(GOOD))[:-1]),
    "gzip with a wrong checksum": (BROKEN, gz(tar(GOOD))[:-8] + bytes(8)),
    "gzip with damaged data": (BROKEN, gz(tar(GOOD))[:30] + b"\xff" * 20 + gz(tar(GOOD))[50:]),
    "gzip out of proportion": (LARGE, gz(tar(entry(b"a", bytes(500_000)), entry(b"b", bytes(500_000))))),
    "gzip of endless zeros": (BROKEN, gz(bytes(1024) + bytes(50))[:-2]),
}

CASES = [
    *((f"tar: {name}", *case) for name, case in TARS.items()),
    *((f"tar.gz: {name}", code, gz(data)) for name, (code, data) in TARS.items()),
    *((f"zip: {name}", *case) for name, case in ZIPS.items()),
    *((f"other: {name}", *case) for name, case in OTHERS.items()),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory to unpack into, with files around it that must not change."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "evil").write_text("kept")
    return tmp_path / "home" / "out"


@pytest.mark.parametrize(("code", "data"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_hostile_upload_is_refused_and_leaves_nothing(code: str, data: bytes, place: Path) -> None:
    before = everything(place.parents[1])
    # Without a ratio, because zeros compress so well that the ratio would be refused first.
    limits = SMALL if code == LARGE else SizeLimits(entries=20, depth=5, path_bytes=300)
    for strip in (False, True):
        with pytest.raises(ArchiveRefused) as refused:
            unpack_upload(io.BytesIO(data), place, strip=strip, limits=limits)
        assert refused.value.code == code
        assert str(refused.value).isprintable()
        assert everything(place.parents[1]) == before


def as_layer(data: bytes, into: Path, diff_id: digests.Digest, limits: SizeLimits = SMALL) -> None:
    unpack_layer(
        io.BytesIO(data), into, digest=digests.of(data), size=len(data), diff_id=diff_id, limits=limits
    )


@pytest.mark.parametrize(
    ("code", "data"),
    [*TARS.values(), (UNSAFE, tar(GOOD, symlink(b"s", b"first.html")))],
    ids=[*TARS, "link inside"],
)
def test_a_hostile_layer_is_refused_even_with_the_right_digest(code: str, data: bytes, place: Path) -> None:
    before = everything(place.parents[1])
    limits = SMALL if code == LARGE else SizeLimits(entries=20, depth=5, path_bytes=300)
    with pytest.raises(ArchiveRefused) as refused:
        as_layer(zstandard.ZstdCompressor().compress(data), place, digests.of(data), limits)
    assert refused.value.code == code
    assert everything(place.parents[1]) == before


def _zstd(data: bytes, **how: object) -> bytes:
    return zstandard.ZstdCompressor(**how).compress(data)  # type: ignore[arg-type]


FRAME = _zstd(tar(GOOD), write_checksum=True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        FRAME[:3],
        FRAME[:-1],
        FRAME[:-4],
        FRAME[:-5],
        FRAME[:-4] + b"\0\0\0\0",
        FRAME + b"x",
        FRAME + FRAME,
        FRAME + b"\x50\x2a\x4d\x18\x04\0\0\0skip",
        b"\x50\x2a\x4d\x18\x04\0\0\0skip" + FRAME,
        gz(tar(GOOD)),
        FRAME[:5] + b"\xff" * 40,
        # Frames with a window of 128 MiB, with a dictionary, and with a reserved kind of block.
        b"\x28\xb5\x2f\xfd\x00\x88" + b"\x01\x00\x00",
        b"\x28\xb5\x2f\xfd\x01\x58\x07" + b"\x01\x00\x00",
        b"\x28\xb5\x2f\xfd\x00\x58" + b"\x07\x00\x00",
        b"\x28\xb5\x2f\xfd\x00\x58" + b"\x00\x00\x00" * 9 + b"\x01\x00\x00",
    ],
)
def test_a_broken_frame_is_refused(data: bytes, place: Path) -> None:
    before = everything(place.parents[1])
    with pytest.raises(ArchiveRefused) as refused:
        as_layer(data, place, digests.of(tar(GOOD)))
    assert refused.value.code == BROKEN
    assert everything(place.parents[1]) == before


WHOLE = tar(
    folder(b"d/"),
    entry(b"d/a", b"1" * 700),
    pax(record(b"path", b"long/" + b"n" * 120)),
    entry(b"b", b"2" * 10),
)


@pytest.mark.parametrize("length", range(0, len(WHOLE), 512))
def test_a_tar_cut_at_any_block_is_refused(length: int, place: Path) -> None:
    before = everything(place.parents[1])
    with pytest.raises(ArchiveRefused) as refused:
        unpack_upload(io.BytesIO(WHOLE[:length]), place)
    assert refused.value.code == BROKEN
    assert everything(place.parents[1]) == before


@pytest.mark.parametrize(
    "data", [gz(WHOLE), zipped(Zipped(b"d/a", b"1" * 700), Zipped(b"b", b"22"))], ids=["gz", "zip"]
)
def test_an_archive_cut_at_any_byte_is_refused(data: bytes, place: Path) -> None:
    before = everything(place.parents[1])
    for length in range(len(data)):
        with pytest.raises(ArchiveRefused):
            unpack_upload(io.BytesIO(data[:length]), place)
    assert everything(place.parents[1]) == before


def test_a_layer_cut_at_any_byte_is_refused(place: Path) -> None:
    data = _zstd(WHOLE)
    for length in range(len(data)):
        with pytest.raises(ArchiveRefused):
            as_layer(data[:length], place, digests.of(WHOLE))
    assert list(place.parent.iterdir()) == [place.parent / "evil"]
