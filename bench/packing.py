"""Packing a directory reproducibly, with digests, compared with a pipe of tar and zstd."""

import asyncio
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.results import CouldNotRun, Result
from bench.servers import Bench
from bench.timings import Timings, compare
from stead.artifacts.packer import LEVEL, PackedLayer, pack_layer

ROUNDS = 11
PAGES, SCRIPTS, IMAGES = 2_500, 20, 60
_TAR = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvw"


async def compare_packing(_: Bench) -> Result:
    return await asyncio.to_thread(_compare)


def _compare() -> Result:
    tar, zstd = shutil.which("tar"), shutil.which("zstd")
    if tar is None or zstd is None:
        raise CouldNotRun("tar or zstd is not installed (`apt-get install tar zstd`)")
    packing, pipe = Timings(), Timings()
    with tempfile.TemporaryDirectory(prefix="stead-bench-") as scratch:
        tree = Path(scratch, "tree")
        _create_site(tree)
        # One run of each is not counted, so that neither has to read the files from disk.
        packed = _pack(tree)
        _pipe(tree, tar, zstd)
        for number in range(ROUNDS):
            turns: list[tuple[Timings, Callable[[], object]]] = [
                (packing, partial(_pack, tree)),
                (pipe, partial(_pipe, tree, tar, zstd)),
            ]
            for timed, work in turns if number % 2 else reversed(turns):
                with timed.measure():
                    work()
    ratio, ratios = compare(packing, pipe)
    size = packed.content_bytes / 1e6
    return Result(
        ratio,
        1.3,
        [
            *ratios,
            f"pack: {_describe(packing, size)}",
            f"tar | zstd -{LEVEL}: {_describe(pipe, size)}",
            f"{packed.files} files, {size:.0f} MB, packed {packed.size / 1e6:.0f} MB",
        ],
    )


def _describe(timed: Timings, size: float) -> str:
    wall, cpu = median(timed.wall), median(timed.cpu)
    return f"{size / wall:.0f} MB/s, {wall * 1e3:.0f} ms, of a processor {cpu * 1e3:.0f} ms"


def _pack(tree: Path) -> PackedLayer:
    with tree.with_name("packing").open("wb") as file:
        return pack_layer(tree, file)


def _pipe(tree: Path, tar: str, zstd: str) -> None:
    with (
        tree.with_name("pipe").open("wb") as file,
        subprocess.Popen([tar, *_TAR, "-C", tree, "-cf", "-", "."], stdout=subprocess.PIPE) as reading,
    ):
        compress = [zstd, f"-{LEVEL}", "-T1", "--no-check", "--quiet", "--stdout"]
        subprocess.run(compress, stdin=reading.stdout, stdout=file, check=True)
    if reading.returncode:
        raise CouldNotRun("tar failed")


def _create_site(tree: Path) -> None:
    """A typical site: many pages of text, a few scripts, and images that cannot be compressed."""
    for number in range(PAGES):
        folder = tree / f"section-{number % 50}" / f"part-{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"page-{number}.html").write_bytes(_generate_text(number, 200 + number * 7919 % 40_000))
    for number in range(SCRIPTS):
        (tree / f"bundle-{number}.js").write_bytes(_generate_text(PAGES + number, 1_500_000))
    for number in range(IMAGES):
        (tree / f"picture-{number}.jpg").write_bytes(hashlib.shake_128(b"%d" % number).digest(700_000))


def _generate_text(seed: int, size: int) -> bytes:
    random = hashlib.shake_128(b"prose %d" % seed).digest(size // 4 + 8)
    words = (_WORDS[random[at] << 4 & 0xFF0 | random[at + 1] & 0xF] for at in range(0, len(random) - 1, 2))
    text = " ".join(words).encode()
    return (text * (size // len(text) + 1))[:size]


_WORDS = [
    "".join(
        letters[digit % len(letters)]
        for letters, digit in zip(
            (_CONSONANTS, _VOWELS) * 4,
            hashlib.shake_128(b"word %d" % number).digest(2 + number % 7),
            strict=False,
        )
    )
    for number in range(4096)
]
