"""The steps that take a snapshot and verify it. Jobs that change a site begin with them.

The first step writes down what is taken, so that a repeated step takes the same snapshot. A snapshot is kept
only after it was verified; one that was not is never listed, and its data is removed from the repository
later.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from stead.control.backups import repositories, storage, store
from stead.control.backups.documents import build_document
from stead.control.backups.events import SNAPSHOT_FAILED
from stead.control.backups.releases import verify_release
from stead.control.backups.rules import (
    FULL_CHECK_AFTER,
    MAY_BE_BROKEN,
    BackupContentUnsupported,
    BackupInterrupted,
    Snapshot,
    SnapshotKind,
)
from stead.control.deployments import service as deployments
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment
from stead.control.jobs.definition import NodeCommand, Refused, Step, WorkerContext, node_step
from stead.control.jobs.kinds import Job
from stead.control.nodes import service as nodes
from stead.control.plans.rules import StorageExhausted
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.control.wordpress import service as wordpress
from stead.protocol.work.releases import EnsureRelease
from stead.protocol.work.snapshots import SnapshotTaken, SnapshotVerified, TakeSnapshot, VerifySnapshot
from stead.shared.ids import SnapshotId, new_id

AnyJob = Job[Any]
_ASKED_FOR: tuple[SnapshotKind, ...] = ("scheduled", "on_demand")
"""Jobs that do nothing else."""
Need = Literal["required", "if_supported", "if_possible"]
"""Whether a job goes on without the snapshot: never; if the content of the site cannot be stored at all; or
for whatever reason the snapshot is refused, because waiting would be worse."""
FindEnvironment = Callable[[Tx, AnyJob], Awaitable[Environment | None]]
"""Whose snapshot a job takes; None if it takes none."""


async def get_production(tx: Tx, job: AnyJob) -> Environment:
    return await environments.get_production(tx, job.site_id)


@dataclass(frozen=True, slots=True)
class _SnapshotSteps:
    kind: Callable[[AnyJob], SnapshotKind]
    find_environment: FindEnvironment
    keep_at_once: bool
    need: Need

    async def begin(self, context: WorkerContext, job: AnyJob) -> None:
        try:
            await self._begin(context, job)
        except Refused as refusal:
            async with context.database.transaction() as tx:
                if not await self.go_on_without(tx, job, refusal):
                    raise

    async def _begin(self, context: WorkerContext, job: AnyJob) -> None:
        async with context.database.transaction() as tx:
            environment = await self.find_environment(tx, job)
            kind, is_test = self.kind(job), (await sites.get_facts(tx, job.site_id)).is_test
        if environment is None:
            # Nothing is copied, but what is restored must not be rewritten meanwhile.
            if kind == "before_restore" and not is_test:
                await repositories.ensure_repository(context, job.site_id)
            return
        await repositories.measure_unfinished(context, job.site_id)
        async with context.database.transaction() as tx:
            full_check = await _needs_full_check(tx, environment, kind)
            document = await build_document(tx, environment)
            # Without a gateway, the operator has decided that there are no backups.
            has_backups = is_test or context.repositories is not None or kind in _ASKED_FOR
            if has_backups:
                await _require_room(tx, job, kind)
                snapshot = SnapshotId(new_id("snap"))
                await store.insert(tx, snapshot, document, job=job.id, kind=kind, full_check=full_check)
            release = await _find_release(tx, environment) if full_check else None
        if release is not None:
            await verify_release(release, context.objects)
        if has_backups and not is_test:
            await repositories.ensure_repository(context, job.site_id)

    async def keep(self, tx: Tx, job: AnyJob, result: SnapshotVerified | None) -> None:
        await _record_verified(tx, job, result)
        if self.keep_at_once:
            await keep(tx, job)

    async def go_on_without(self, tx: Tx, job: AnyJob, refusal: Refused) -> bool:
        unsupported = refusal.code == BackupContentUnsupported.code
        if self.need == "required" or (self.need == "if_supported" and not unsupported):
            return False
        await store.abandon(tx, job.id)
        await sites.publish_job_event(tx, job, SNAPSHOT_FAILED, kind=self.kind(job), reason=refusal.reason)
        return True


def build_snapshot_steps(
    kind: SnapshotKind | Callable[[AnyJob], SnapshotKind],
    find_environment: FindEnvironment = get_production,
    *,
    keep_at_once: bool = True,
    need: Need = "required",
) -> tuple[Step, Step, Step]:
    """With `keep_at_once` the snapshot stays, whether or not the rest of the job succeeds. Otherwise a later
    step of the job must call `keep`."""
    of_job = kind if callable(kind) else lambda _: kind
    steps = _SnapshotSteps(of_job, find_environment, keep_at_once, need)
    return (
        Step("snapshot", long_action=steps.begin, undo_control=_abandon),
        node_step("copy", _take, on_result=_record_taken, on_refusal=steps.go_on_without),
        node_step("verify", _verify, on_result=steps.keep, on_refusal=steps.go_on_without),
    )


async def keep(tx: Tx, job: AnyJob) -> Snapshot | None:
    """The snapshot of the job is listed from now on. None if the job has taken none."""
    taken = await store.find_by_job(tx, job.id)
    if taken is not None:
        await store.keep(tx, taken.id)
    return taken


async def _require_room(tx: Tx, job: AnyJob, kind: SnapshotKind) -> None:
    facts = await sites.get_facts(tx, job.site_id)
    try:
        await storage.require_room(tx, facts.owner, kind)
    except StorageExhausted as full:
        raise Refused(full.code, str(full)) from None


async def _find_release(tx: Tx, env: Environment) -> EnsureRelease | None:
    return await deployments.find_live_release(tx, env.id)


async def _needs_full_check(tx: Tx, env: Environment, kind: SnapshotKind) -> bool:
    """Always, except for sites that may be broken; for scheduled snapshots once a week, and after a change of
    the version of the node."""
    if kind != "scheduled":
        return kind not in MAY_BE_BROKEN
    last = await store.find_last_full_check(tx, env.site_id, env.id)
    return last is None or tx.now - last[0] >= FULL_CHECK_AFTER or last[1] != await _get_engine(tx, env)


async def _get_engine(tx: Tx, env: Environment) -> str:
    node = await nodes.find(tx, env.node_id) if env.node_id else None
    return node.version if node else ""


async def _find_wanted(tx: Tx, job: AnyJob) -> Snapshot | None:
    """None if the job takes none, or goes on without it."""
    snapshot = await store.find_by_job(tx, job.id)
    return None if snapshot is None or snapshot.status == "failed" else snapshot


async def _take(tx: Tx, job: AnyJob) -> NodeCommand | None:
    snapshot = await _find_wanted(tx, job)
    if snapshot is None:
        return None
    work = TakeSnapshot(
        snapshot.runtime,
        await repositories.build_access(tx, job.site_id, "append"),
        snapshot.id,
        msgspec.json.encode(snapshot.document),
    )
    return await _build_command(tx, snapshot, work)


async def _record_taken(tx: Tx, job: AnyJob, taken: SnapshotTaken | None) -> None:
    snapshot = await store.find_by_job(tx, job.id)
    if snapshot is None:
        return
    if taken is None:
        raise _no_report()
    await store.record_taken(
        tx,
        snapshot.id,
        restic_id=taken.restic_id,
        manifest_digest=taken.manifest_digest,
        size_bytes=taken.size_bytes,
        added_bytes=min(taken.added_bytes, await repositories.get_allowance(tx, job.site_id)),
    )


async def _verify(tx: Tx, job: AnyJob) -> NodeCommand | None:
    snapshot = await _find_wanted(tx, job)
    if snapshot is None:
        return None
    environment = await environments.get(tx, snapshot.env_id)
    work = VerifySnapshot(
        snapshot.runtime,
        await repositories.build_access(tx, job.site_id, "read", stored_at=snapshot.stored_at),
        snapshot.id,
        snapshot.restic_id or "",
        snapshot.manifest_digest or "",
        await wordpress.build_settings(tx, environment, snapshot.document.host),
        boot=snapshot.full_check,
    )
    return await _build_command(tx, snapshot, work)


async def _record_verified(tx: Tx, job: AnyJob, result: SnapshotVerified | None) -> None:
    """A site that may be broken counts as verified when its rows and files are the same."""
    snapshot = await store.find_by_job(tx, job.id)
    if snapshot is None:
        return
    if result is None:
        raise _no_report()
    has_answered = snapshot.full_check and (result.booted or snapshot.runtime != "cms")
    if has_answered or snapshot.kind in MAY_BE_BROKEN:
        env = await environments.get(tx, snapshot.env_id)
        engine = await _get_engine(tx, env) if has_answered else ""
        await store.record_verified(tx, snapshot.id, engine)


def _no_report() -> Refused:
    """The node said that it is done, but not what it did, or nothing that can be read."""
    reason = "the node has not described the snapshot."
    return Refused(BackupInterrupted.code, str(BackupInterrupted(reason=reason)))


async def _build_command(tx: Tx, snapshot: Snapshot, work: TakeSnapshot | VerifySnapshot) -> NodeCommand:
    environment = await environments.get(tx, snapshot.env_id)
    return await node_commands.build_environment_command(tx, environment, work)


async def _abandon(tx: Tx, job: AnyJob) -> None:
    await store.abandon(tx, job.id)
