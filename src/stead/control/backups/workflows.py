"""The jobs of backups: taking a snapshot, and restoring one in place."""

from stead.control.artifacts import service as artifacts
from stead.control.backups import jobs, scheduling, store
from stead.control.backups.documents import build_change
from stead.control.backups.events import (
    SNAPSHOT_COMPLETED,
    SNAPSHOT_FAILED,
    SNAPSHOT_RESTORE_FAILED,
    SNAPSHOT_RESTORED,
)
from stead.control.backups.jobs import BackupWork, RestoreWork
from stead.control.backups.repositories import build_access
from stead.control.backups.rules import BackupDamaged, Snapshot, SnapshotNotFound
from stead.control.backups.snapshot_steps import build_snapshot_steps, keep
from stead.control.configuration import service as configuration
from stead.control.configuration.rules import Settings
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import Deployment
from stead.control.domains import service as domains
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment, EnvironmentBusy
from stead.control.environments.workflows.datasets import dataset_of
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Step,
    Workflow,
    control_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.control.redirects import service as redirects
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.control.wordpress import service as wordpress
from stead.protocol.work.hosting import (
    DiscardDataset,
    EnsureEnvironment,
    Probe,
    RemoveEnvironment,
    WordPressSettings,
)
from stead.protocol.work.releases import EnsureRelease, release_of
from stead.protocol.work.snapshots import RestoreSnapshot

BackupJob = Job[BackupWork]
RestoreJob = Job[RestoreWork]


async def _get_environment(tx: Tx, job: BackupJob | RestoreJob) -> Environment:
    return await environments.get(tx, job.params.environment)


async def _finish_backup(tx: Tx, job: BackupJob) -> Results:
    taken = await keep(tx, job)
    if taken is None:
        raise LookupError("the job has no snapshot")
    await scheduling.record_success(tx, job.site_id, await _get_environment(tx, job))
    await sites.publish_job_event(
        tx,
        job,
        SNAPSHOT_COMPLETED,
        snapshot_id=taken.id,
        kind=taken.kind,
        size_bytes=taken.size_bytes,
        verified=taken.verified_at is not None,
    )
    return {"snapshot_id": taken.id}


async def _backup_failed(tx: Tx, job: BackupJob, reason: str) -> None:
    await scheduling.record_failure(tx, job.site_id, await _get_environment(tx, job), reason)
    await sites.publish_job_event(tx, job, SNAPSHOT_FAILED, kind=job.params.kind, reason=reason)


async def _begin_restore(tx: Tx, job: RestoreJob) -> None:
    environment, snapshot = await _get_environment(tx, job), await _get_snapshot(tx, job)
    is_lost = await environments.is_data_lost(tx, environment.id)
    # An environment whose data was lost with its node has failed, and returns by being restored.
    if environment.status != "running" and not (is_lost and environment.status == "failed"):
        raise Refused(EnvironmentBusy.code, str(EnvironmentBusy(status=environment.status)))
    if snapshot.document.release is None:
        return
    if snapshot.artifact_id is None:
        raise Refused(BackupDamaged.code, str(BackupDamaged(snapshot=snapshot.id)))
    await deployments.start(tx, environment.id, snapshot.artifact_id, job.id, "restore")


async def _get_snapshot(tx: Tx, job: RestoreJob) -> Snapshot:
    found = await store.find(tx, job.site_id, job.params.snapshot)
    if found is None:
        raise Refused(SnapshotNotFound.code, "The snapshot does not exist any more.")
    return found


async def _has_datasets(tx: Tx, job: RestoreJob) -> bool:
    facts = await sites.get_facts(tx, job.site_id)
    return facts.is_test or facts.runtime in node_commands.WITH_PROCESSES


async def _build_settings(tx: Tx, env: Environment) -> WordPressSettings | None:
    host = await domains.choose_host(tx, env.id, env.subdomain)
    return await wordpress.build_settings(tx, env, host)


async def _restore_data(tx: Tx, job: RestoreJob) -> NodeCommand | None:
    """Beside what is served. Only WordPress sites have files and rows; a release is fetched."""
    if not await _has_datasets(tx, job):
        return None
    environment, snapshot = await _get_environment(tx, job), await _get_snapshot(tx, job)
    host = await domains.choose_host(tx, environment.id, environment.subdomain)
    work = RestoreSnapshot(
        snapshot.runtime,
        await build_access(tx, job.site_id, "read", stored_at=snapshot.stored_at),
        snapshot.id,
        snapshot.restic_id or "",
        snapshot.manifest_digest or "",
        dataset_of(job),
        await _build_settings(tx, environment),
        hosts=() if host == snapshot.document.host else (snapshot.document.host,),
    )
    return await node_commands.build_environment_command(tx, environment, work)


async def _find_copied_environment(tx: Tx, job: RestoreJob) -> Environment | None:
    """None if there is nothing to copy: the node of the environment was lost, and this one has nothing."""
    lost = await environments.is_data_lost(tx, job.params.environment)
    return None if lost else await _get_environment(tx, job)


async def _discard_data(tx: Tx, job: RestoreJob) -> NodeCommand | None:
    """The environment serves what it served before the job, also the release."""
    if not await _has_datasets(tx, job):
        return None
    work: DiscardDataset | RemoveEnvironment
    work = DiscardDataset((await sites.get_facts(tx, job.site_id)).runtime, dataset_of(job))
    if await environments.is_data_lost(tx, job.params.environment):
        # The environment has no other dataset that it could serve again.
        work = RemoveEnvironment()
    return await node_commands.build_command_if_placed(tx, await _get_environment(tx, job), work)


async def _fetch_release(tx: Tx, job: RestoreJob) -> NodeCommand | None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is None:
        return None
    return await deployments.build_release_command(tx, job.site_id, deployment.env_id, deployment.artifact_id)


async def _restore_settings(tx: Tx, job: RestoreJob) -> None:
    """Those of the site belong to its production: the restore of another environment does not change them."""
    document, environment = (await _get_snapshot(tx, job)).document, await _get_environment(tx, job)
    wanted: list[tuple[str, Settings]] = [(environment.id, document.override)]
    if environment.type == "production":
        wanted.insert(0, (job.site_id, document.configuration))
        await redirects.replace(tx, job.site_id, document.redirects, job=job.id)
    for subject, settings in wanted:
        change = build_change(await configuration.get_settings(tx, subject), settings)
        await configuration.apply_change(tx, subject, job.site_id, change, job=job.id)


async def _return_to_settings(tx: Tx, job: RestoreJob) -> Announcement | None:
    """Reverting what the job has not changed does nothing."""
    for subject in (job.site_id, job.params.environment):
        await configuration.revert_change(tx, subject, job=job.id)
    await redirects.revert(tx, job.site_id, job=job.id)
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _serve_data(tx: Tx, job: RestoreJob) -> NodeCommand | None:
    if not await _has_datasets(tx, job):
        return None
    environment, deployment = await _get_environment(tx, job), await deployments.find_by_job(tx, job.id)
    runtime = (await sites.get_facts(tx, job.site_id)).runtime
    release: EnsureRelease | None = None
    if deployment is not None:
        release = await artifacts.build_release_work(tx, job.site_id, deployment.artifact_id, runtime)
    settings = await _build_settings(tx, environment)
    work = EnsureEnvironment(runtime, release, settings, dataset_of(job))
    return await node_commands.build_environment_command(tx, environment, work)


async def _switch(tx: Tx, job: RestoreJob) -> Announcement | None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is not None:
        await deployments.switch_release(tx, deployment)
    else:
        await environments.set_release(tx, job.params.environment, None)
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _switch_back(tx: Tx, job: RestoreJob) -> Announcement | None:
    """Until the job finishes, the live deployment is the one from before it."""
    deployment = await deployments.find_by_job(tx, job.id)
    live = await deployments.find_live(tx, job.params.environment)
    if deployment is not None:
        await deployments.switch_back(tx, deployment)
    await environments.set_release(tx, job.params.environment, release_of(live.digest) if live else None)
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _check(tx: Tx, job: RestoreJob) -> NodeCommand:
    """The page as visitors get it. If it fails, everything is undone."""
    environment = await _get_environment(tx, job)
    return await node_commands.build_environment_command(tx, environment, Probe(environment.subdomain))


async def _finish_restore(tx: Tx, job: RestoreJob) -> Results:
    environment, deployment = await _get_environment(tx, job), await deployments.find_by_job(tx, job.id)
    if deployment is not None:
        await deployments.mark_live(tx, deployment)
    else:
        await deployments.reset_to_placeholder(tx, environment.id)
    if await _has_datasets(tx, job):
        await environments.set_dataset(tx, environment.id, dataset_of(job))
    if environment.type == "production":
        await sites.mark_restored(tx, job.site_id)
    else:
        await environments.set_status(tx, environment.id, "running", after=("running", "failed"))
    before = await store.find_by_job(tx, job.id)
    await sites.publish_job_event(
        tx,
        job,
        SNAPSHOT_RESTORED,
        snapshot_id=job.params.snapshot,
        before_id=before.id if before else None,
    )
    host = await domains.choose_host(tx, environment.id, environment.subdomain)
    results: Results = {"snapshot_id": job.params.snapshot, "env_id": environment.id}
    return {**results, "url": f"https://{host}/", **_describe(deployment)}


def _describe(deployment: Deployment | None) -> Results:
    if deployment is None:
        return {}
    return {
        "deployment_id": deployment.id,
        "release_id": deployment.id,
        "artifact_id": deployment.artifact_id,
        "digest": deployment.digest,
    }


async def _restore_failed(tx: Tx, job: RestoreJob, reason: str) -> None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is not None:
        await deployments.set_status(tx, deployment.id, "failed", reason=reason)
    await sites.publish_job_event(
        tx, job, SNAPSHOT_RESTORE_FAILED, snapshot_id=job.params.snapshot, reason=reason
    )


CREATE = Workflow(
    jobs.CREATE,
    steps=[
        *build_snapshot_steps(lambda job: job.params.kind, _get_environment, keep_at_once=False),
        control_step("done", _finish_backup),
    ],
    failed=_backup_failed,
)

RESTORE = Workflow(
    jobs.RESTORE,
    steps=[
        control_step("begin", _begin_restore),
        *build_snapshot_steps("before_restore", _find_copied_environment),
        node_step("data", _restore_data, undo=_discard_data),
        node_step("fetch", _fetch_release),
        Step("settings", control=_restore_settings, undo_announce=_return_to_settings),
        Step(
            "switch",
            command=_serve_data,
            announce=_switch,
            undo_command=_discard_data,
            undo_announce=_switch_back,
        ),
        node_step("check", _check),
        control_step("done", _finish_restore),
    ],
    failed=_restore_failed,
)
