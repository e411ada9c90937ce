"""What it costs to pack a tree reproducibly, digests included, against tar and zstd in a pipe."""

import asyncio
import hashlib
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.artifacts.packing import LEVEL, Packed, pack

ROUNDS = 11
PAGES, SCRIPTS, IMAGES = 2_500, 20, 60
_TAR = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvw"


async def ratio(_: Bench) -> Result:
    return await asyncio.to_thread(_ratio)


def _ratio() -> Result:
    tar, zstd = shutil.which("tar"), shutil.which("zstd")
    if tar is None or zstd is None:
        raise CouldNotRun("tar or zstd is not installed (`apt-get install tar zstd`)")
    ours, bare = _Timed(), _Timed()
    with tempfile.TemporaryDirectory(prefix="stead-bench-") as place:
        tree = Path(place, "tree")
        _grow(tree)
        # Once each for nothing, so that neither has to read the tree from the disk.
        packed = _ours(tree)
        _bare(tree, tar, zstd)
        for number in range(ROUNDS):
            turns: list[tuple[_Timed, Callable[[], object]]] = [
                (ours, partial(_ours, tree)),
                (bare, partial(_bare, tree, tar, zstd)),
            ]
            for timed, work in turns if number % 2 else reversed(turns):
                timed.run(work)
    ratios = [mine / theirs for mine, theirs in zip(ours.wall, bare.wall, strict=True)]
    processor = [mine / theirs for mine, theirs in zip(ours.cpu, bare.cpu, strict=True)]
    size = packed.content_bytes / 1e6
    return Result(
        median(ratios),
        1.3,
        [
            f"ratio {spread(ratios)}",
            f"ratio of processor time {spread(processor)}",
            f"pack: {ours.summary(size)}",
            f"tar | zstd -{LEVEL}: {bare.summary(size)}",
            f"{packed.files} files, {size:.0f} MB, packed {packed.size / 1e6:.0f} MB",
        ],
    )


class _Timed:
    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def run(self, work: Callable[[], object]) -> None:
        began, used = time.perf_counter(), _processor_time()
        work()
        self.wall.append(time.perf_counter() - began)
        self.cpu.append(_processor_time() - used)

    def summary(self, size: float) -> str:
        wall, cpu = median(self.wall), median(self.cpu)
        return f"{size / wall:.0f} MB/s, {wall * 1e3:.0f} ms, of a processor {cpu * 1e3:.0f} ms"


def _processor_time() -> float:
    """Of this process and of those it has waited for."""
    return sum(
        use.ru_utime + use.ru_stime
        for use in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def _ours(tree: Path) -> Packed:
    with tree.with_name("ours").open("wb") as file:
        return pack(tree, file)


def _bare(tree: Path, tar: str, zstd: str) -> None:
    with (
        tree.with_name("bare").open("wb") as file,
        subprocess.Popen([tar, *_TAR, "-C", tree, "-cf", "-", "."], stdout=subprocess.PIPE) as reading,
    ):
        squeeze = [zstd, f"-{LEVEL}", "-T1", "--no-check", "--quiet", "--stdout"]
        subprocess.run(squeeze, stdin=reading.stdout, stdout=file, check=True)
    if reading.returncode:
        raise CouldNotRun("tar failed")


def _grow(tree: Path) -> None:
    """A site as they are: many pages of prose, a few scripts, pictures that do not compress."""
    for number in range(PAGES):
        folder = tree / f"section-{number % 50}" / f"part-{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"page-{number}.html").write_bytes(_prose(number, 200 + number * 7919 % 40_000))
    for number in range(SCRIPTS):
        (tree / f"bundle-{number}.js").write_bytes(_prose(PAGES + number, 1_500_000))
    for number in range(IMAGES):
        (tree / f"picture-{number}.jpg").write_bytes(hashlib.shake_128(b"%d" % number).digest(700_000))


def _prose(seed: int, size: int) -> bytes:
    chance = hashlib.shake_128(b"prose %d" % seed).digest(size // 4 + 8)
    words = (_WORDS[chance[at] << 4 & 0xFF0 | chance[at + 1] & 0xF] for at in range(0, len(chance) - 1, 2))
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
