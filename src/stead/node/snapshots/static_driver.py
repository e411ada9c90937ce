"""Snapshots of static environments. Their content is a release, which is stored as an artifact already, so a
snapshot has only a manifest. Restoring it is work of the control plane, which activates the release again."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.snapshots.failures import DAMAGED, INTERRUPTED, SnapshotFailed
from stead.node.snapshots.places import SnapshotPlace, clear_all
from stead.node.snapshots.restic import Repository, Restic
from stead.node.uninterrupted import run_in_thread
from stead.protocol.snapshot_manifest import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    ManifestUnreadable,
    SnapshotManifest,
    digest_of,
    encode_manifest,
    read_manifest,
)
from stead.protocol.work.snapshots import SnapshotTaken, SnapshotVerified, TakeSnapshot, VerifySnapshot

PLACES = 2
"""How many snapshots are taken or verified at the same time on a node."""


class StaticSnapshots(Driver):
    def __init__(self, data: Path, restic: Restic) -> None:
        self._environments, self._restic = layout.environments(data), restic
        self._home, self._places = data / "snapshots", asyncio.Semaphore(PLACES)
        clear_all(self._home)

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(TakeSnapshot, self.take, ("static",)),
            Handler(VerifySnapshot, self.verify, ("static",)),
        ]

    async def take(self, task: Assignment, work: TakeSnapshot) -> SnapshotTaken:
        name = layout.check_identifier(task.environment)
        if not (self._environments / name).is_dir():
            raise Refusal("environment.not_found", "the environment is not on this node")
        async with self._places:
            return await self._take(task, work, name)

    async def _take(self, task: Assignment, work: TakeSnapshot, name: str) -> SnapshotTaken:
        place = SnapshotPlace(self._home / name)
        repository = self._restic.open(work.repository, place.cache)
        if (earlier := await _find(repository, work.snapshot)) is not None:
            return earlier
        data = encode_manifest(
            SnapshotManifest(work.snapshot, task.site, name, work.runtime, time.time_ns(), work.document)
        )
        await run_in_thread(place.make_empty)
        try:
            await run_in_thread(layout.write_file, place.tree / MANIFEST, data, mode=0o600)
            await repository.backup(place.tree, [MANIFEST], tag=work.snapshot, host=name)
        finally:
            await run_in_thread(place.remove)
        taken = await _find(repository, work.snapshot)
        if taken is None:
            raise SnapshotFailed(INTERRUPTED, "the snapshot is not in the repository")
        await task.output.say("snapshot: the release and the configuration of the site are recorded")
        return taken

    async def verify(self, task: Assignment, work: VerifySnapshot) -> SnapshotVerified:
        repository = self._restic.open(work.repository)
        try:
            async with self._places:
                data = await repository.read(work.restic_id, MANIFEST, MAX_MANIFEST_BYTES)
            read_manifest(data, work.manifest_digest)
        except ManifestUnreadable as unreadable:
            raise SnapshotFailed(DAMAGED, f"{work.snapshot} is damaged: {unreadable}") from None
        await task.output.say(f"snapshot: {work.snapshot} is verified")
        return SnapshotVerified(files=1)


async def _find(repository: Repository, snapshot: str) -> SnapshotTaken | None:
    for stored in await repository.find(snapshot):
        data = await repository.read(stored.id, MANIFEST, MAX_MANIFEST_BYTES)
        return SnapshotTaken(stored.id, digest_of(data), len(data), len(data), files=1)
    return None
