"""Copies a repository, file by file, to the second store, and back.

Files of a repository never change, and are named after the SHA-256 of their content. So a copy is verified
while it is made, can be stopped at any point, and is a complete repository as soon as its snapshots arrive,
which come last.
"""

import asyncio
import hashlib
import random
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

from stead.control.engines.object_store import ObjectMissing, ObjectStore
from stead.control.engines.restic import RepositoryDamaged
from stead.shared.repository_layout import repository_prefix

ORDER = ("config", "keys", "data", "index", "snapshots")
"""At every moment, whatever a file refers to is there before it. Removed in the opposite order."""
PARALLEL = 4
SAMPLE = 8
"""How many of the copied files are read again."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    files: int
    bytes: int
    read_back: int


async def list_files(objects: ObjectStore, site: str) -> dict[str, int]:
    """The files of a repository and their sizes. Locks are not a part of it."""
    files: dict[str, int] = {}
    async with aclosing(objects.list_objects(repository_prefix(site))) as batches:
        async for batch in batches:
            files |= {each.key: each.size for each in batch if kind_of(each.key, site) in ORDER}
    return files


async def copy_repository(source: ObjectStore, target: ObjectStore, site: str) -> CopyResult:
    """Copy what is missing, and read a sample of it back. Raises RepositoryDamaged, and names the file."""
    here, there = await list_files(source, site), await list_files(target, site)
    missing = [key for key, size in here.items() if there.get(key) != size]
    for kind in ORDER:
        await copy_objects(source, target, [key for key in missing if kind_of(key, site) == kind])
    sample = random.sample(missing, min(SAMPLE, len(missing)))
    snapshots = [key for key in missing if kind_of(key, site) == "snapshots"]
    for key in {*sample, *snapshots}:
        await asyncio.to_thread(read_object, target, key)
    return CopyResult(len(missing), sum(here[key] for key in missing), len({*sample, *snapshots}))


async def remove_extra(source: ObjectStore, target: ObjectStore, site: str) -> int:
    """Remove from the target what the source no longer has. The caller has checked that the source is
    complete. Returns how many files."""
    here, there = await list_files(source, site), await list_files(target, site)
    extra = [key for key in there if key not in here]
    for kind in reversed(ORDER):
        await target.delete([key for key in extra if kind_of(key, site) == kind])
    return len(extra)


async def copy_objects(source: ObjectStore, target: ObjectStore, keys: Sequence[str]) -> None:
    """Copy objects that are named after the SHA-256 of their content. The first failure stops all."""
    waiting = iter(keys)

    async def copy_next() -> None:
        for key in waiting:
            await asyncio.to_thread(_copy, source, target, key)

    copying = [asyncio.create_task(copy_next()) for _ in range(min(PARALLEL, len(keys)))]
    try:
        await asyncio.gather(*copying)
    finally:
        for task in copying:
            task.cancel()
        await asyncio.gather(*copying, return_exceptions=True)


def _copy(source: ObjectStore, target: ObjectStore, key: str) -> None:
    with TemporaryFile() as file:
        read_object(source, key, file)
        file.seek(0)
        target.put_file(key, file)


def read_object(objects: ObjectStore, key: str, file: IO[bytes] | None = None) -> None:
    """Read an object completely. Raises RepositoryDamaged if its content does not fit its name."""
    digest, name = hashlib.sha256(), key.rpartition("/")[2]
    for chunk in objects.read_chunks(key):
        digest.update(chunk)
        if file is not None:
            file.write(chunk)
    if name != "config" and digest.hexdigest() != name:
        raise RepositoryDamaged(f"the content of {key} is damaged")


def kind_of(key: str, site: str) -> str:
    return key.removeprefix(repository_prefix(site)).partition("/")[0]


async def copy_missing(source: ObjectStore, target: ObjectStore, keys: Sequence[str]) -> int:
    """Copy objects that the target does not have. Returns how many."""
    missing = [key for key in keys if not await _exists(target, key)]
    await copy_objects(source, target, missing)
    return len(missing)


async def _exists(objects: ObjectStore, key: str) -> bool:
    try:
        await objects.size(key)
    except ObjectMissing:
        return False
    return True
