"""The use cases of deployments, each inside the caller's transaction. Jobs of environments use them too."""

from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import Artifact, ArtifactNotFound
from stead.control.deployments import permanent_urls, store
from stead.control.deployments.events import (
    DEPLOY_COMPLETED,
    DEPLOY_FAILED,
    DEPLOY_PROMOTED,
    DEPLOY_ROLLED_BACK,
    DEPLOY_STARTED,
)
from stead.control.deployments.jobs import DEPLOY, PROMOTE, ROLLBACK, DeploymentWork
from stead.control.deployments.rules import (
    ArtifactNotKept,
    Deployment,
    DeploymentKind,
    DeploymentNotFound,
    DeploymentStatus,
    DeploymentTarget,
    EnvironmentNotReady,
    NeverLive,
    NothingLive,
    VisibleDeployment,
)
from stead.control.deployments.schema import DeploymentView, NewDeployment, Promotion, ReleaseView
from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import NodeCommand, Refused
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.schema import JobView
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.sites import node_commands
from stead.control.wordpress import service as wordpress
from stead.protocol.work.hosting import EnsureEnvironment
from stead.protocol.work.releases import EnsureRelease, release_of
from stead.shared.errors import FieldInvalid
from stead.shared.ids import DeploymentId, has_shape

_LIVE_EVENTS: dict[DeploymentKind, EventType] = {"promote": DEPLOY_PROMOTED, "rollback": DEPLOY_ROLLED_BACK}
_ENVIRONMENT_KINDS: tuple[DeploymentKind, ...] = ("clone", "refresh", "push", "restore")
SCOPE = "deployments:write"
_JOBS: dict[DeploymentKind, JobKind[DeploymentWork]] = {
    "deploy": DEPLOY,
    "promote": PROMOTE,
    "rollback": ROLLBACK,
}


async def visible_deployment(
    call: Call, environment: VisibleEnvironment, deployment_id: str
) -> VisibleDeployment:
    well_formed = has_shape("dep", deployment_id)
    found = await store.find(call.tx, environment, deployment_id) if well_formed else None
    if found is None:
        raise DeploymentNotFound
    return found


async def browse(tx: Tx, env: str, page: PageRequest) -> Page[DeploymentView]:
    return await store.page(tx, env, page)


async def browse_releases(tx: Tx, env: str, page: PageRequest) -> Page[ReleaseView]:
    return await store.page_releases(tx, env, page)


async def deploy(tx: Tx, env: VisibleEnvironment, wanted: NewDeployment) -> JobView:
    return await enqueue(tx, env.id, wanted.artifact_id)


async def rollback(tx: Tx, env: VisibleEnvironment, former: VisibleDeployment) -> JobView:
    """Deploy the artifact of an earlier deployment again."""
    if former.deployed_at is None:
        raise NeverLive
    try:
        artifact = await artifacts.find(tx, env.site_id, former.artifact_id)
    except ArtifactNotFound:
        raise ArtifactNotKept from None
    return await _enqueue(tx, await _get_open_target(tx, env.id), artifact, "rollback", former.id)


async def promote(tx: Tx, caller: Principal, env: VisibleEnvironment, wanted: Promotion) -> JobView:
    """Deploy the live artifact of an environment to another one, which the caller must see, too."""
    target = await environments.find_in_site(tx, caller, env.site_id, wanted.to_env)
    if target.id == env.id:
        raise FieldInvalid(param="to_env", reason="An environment cannot be promoted to itself.")
    live = await store.find_live(tx, env.id)
    if live is None:
        raise NothingLive
    artifact = await artifacts.find(tx, env.site_id, live.artifact_id)
    return await _enqueue(tx, await _get_open_target(tx, target.id), artifact, "promote", live.id)


async def enqueue(tx: Tx, env_id: str, artifact_id: str) -> JobView:
    """Deploy an artifact of the site to an environment. Builds with `auto_deploy` use this, too."""
    target = await _get_open_target(tx, env_id)
    artifact = await artifacts.find(tx, target.site_id, artifact_id)
    return await _enqueue(tx, target, artifact, "deploy", None)


async def _enqueue(
    tx: Tx,
    target: DeploymentTarget,
    artifact: Artifact,
    kind: DeploymentKind,
    from_id: str | None,
) -> JobView:
    deployment = await store.insert(tx, target, artifact, kind, from_id=from_id)
    subject = jobs.Subject(target.site_id, target.owner, env_id=target.env_id, id=deployment)
    job = await jobs.enqueue(tx, _JOBS[kind], DeploymentWork(deployment), subject, scope=SCOPE)
    await store.set_job(tx, deployment, job.id)
    return job


async def get_ready_target(tx: Tx, env_id: str) -> DeploymentTarget:
    """An environment that can be built for now; for requests."""
    target = await store.find_target(tx, env_id)
    if target is None:
        raise EnvironmentNotFound
    if not target.is_ready:
        raise EnvironmentNotReady(status=target.status_for_message)
    return target


async def _get_open_target(tx: Tx, env_id: str) -> DeploymentTarget:
    """An environment that can be deployed to now; for requests."""
    target = await get_ready_target(tx, env_id)
    await environments.require_unlocked(tx, env_id)
    return target


async def get_target(tx: Tx, env_id: str) -> DeploymentTarget:
    """An environment, whatever its status; for steps of jobs."""
    target = await store.find_target(tx, env_id)
    if target is None:
        raise Refused(EnvironmentNotFound.code, "The environment does not exist any more.")
    return target


async def find_live(tx: Tx, env_id: str) -> Deployment | None:
    """The deployment that visitors of the environment see; None while they see the placeholder page."""
    return await store.find_live(tx, env_id)


async def find_by_job(tx: Tx, job: str) -> Deployment | None:
    return await store.find_by_job(tx, job)


async def get(tx: Tx, deployment: str) -> Deployment:
    found = await store.get(tx, deployment)
    if found is None:
        raise Refused(DeploymentNotFound.code, "The deployment does not exist any more.")
    return found


async def find_live_release(tx: Tx, env_id: str) -> EnsureRelease | None:
    """The work that brings the live release of an environment to a node; None for the placeholder page."""
    live = await store.find_live(tx, env_id)
    if live is None:
        return None
    return await artifacts.build_release_work(
        tx, live.site_id, live.artifact_id, (await get_target(tx, env_id)).runtime
    )


async def build_release_command(tx: Tx, site_id: str, env_id: str, artifact_id: str) -> NodeCommand:
    """The command that brings an artifact to the node that hosts the environment."""
    target = await get_target(tx, env_id)
    work = await artifacts.build_release_work(tx, site_id, artifact_id, target.runtime)
    return node_commands.build_command(target.node_id, target.env_id, target.mode, work)


async def build_serve_command(tx: Tx, env_id: str, artifact_id: str | None) -> NodeCommand | None:
    """The command that makes the processes of an environment serve an artifact, or what they served before
    the first one. None if it has no processes: then the edges alone decide what visitors see. No edge knows a
    test site, so its simulator is told."""
    target = await get_target(tx, env_id)
    if target.runtime != "cms" and target.mode != "test":
        return None
    env = await environments.get(tx, env_id)
    host = await domains.choose_host(tx, env.id, env.subdomain)
    settings = await wordpress.build_settings(tx, env, host)
    release: EnsureRelease | None = None
    if artifact_id is not None:
        release = await artifacts.build_release_work(tx, target.site_id, artifact_id, target.runtime)
    work = EnsureEnvironment(target.runtime, release, settings)
    return node_commands.build_command(target.node_id, target.env_id, target.mode, work)


async def record_live(
    tx: Tx,
    env_id: str,
    artifact_id: str,
    job: str | None,
    kind: DeploymentKind,
    *,
    from_id: str | None = None,
) -> DeploymentId:
    """Record a live deployment whose release is on the node already. It supersedes the one before; the next
    announcement tells the edges."""
    target = await get_target(tx, env_id)
    artifact = await artifacts.find(tx, target.site_id, artifact_id)
    await _supersede_live(tx, env_id)
    deployment = await store.insert(tx, target, artifact, kind, from_id=from_id, job=job, live_since=tx.now)
    await environments.set_release(tx, env_id, release_of(artifact.digest))
    if artifact.ref is not None:
        await environments.set_git_ref(tx, env_id, artifact.ref)
    return deployment


async def start(
    tx: Tx, env_id: str, artifact_id: str, job: str, kind: DeploymentKind, *, from_id: str | None = None
) -> None:
    """Start a deployment that a job of another feature performs and publishes."""
    target = await get_target(tx, env_id)
    artifact = await artifacts.find(tx, target.site_id, artifact_id)
    deployment = await store.insert(tx, target, artifact, kind, from_id=from_id, job=job)
    await set_status(tx, deployment, "deploying")


async def set_status(tx: Tx, deployment: str, status: DeploymentStatus, *, reason: str | None = None) -> bool:
    """Change the status if the current one allows it, and publish the change. Returns whether it did."""
    if not await store.set_status(tx, deployment, status, reason=reason):
        return False
    if status == "failed":
        await permanent_urls.end(tx, deployment)
    changed = await get(tx, deployment)
    event = {
        "deploying": DEPLOY_STARTED,
        "live": _LIVE_EVENTS.get(changed.kind, DEPLOY_COMPLETED),
        "failed": DEPLOY_FAILED,
    }.get(status)
    # A superseded deployment publishes nothing: the one that replaces it does. Neither do deployments of jobs
    # of environments: those jobs publish an event of their own.
    if event is not None and changed.kind not in _ENVIRONMENT_KINDS:
        await _publish_event(tx, changed, event, reason)
    return True


async def mark_live(tx: Tx, deployment: Deployment) -> None:
    """The deployment before is superseded in the same transaction: an environment has one live deployment."""
    await _supersede_live(tx, deployment.env_id)
    if not await set_status(tx, deployment.id, "live"):
        raise Refused(EnvironmentNotReady.code, "The deployment is not in progress any more.")
    await permanent_urls.forget_ended(tx, deployment.env_id)
    if deployment.ref is not None:
        await environments.set_git_ref(tx, deployment.env_id, deployment.ref)


async def reset_to_placeholder(tx: Tx, env_id: str) -> None:
    """The environment has no live deployment any more."""
    await _supersede_live(tx, env_id)
    await environments.set_release(tx, env_id, None)
    await environments.set_git_ref(tx, env_id, None)


async def switch_release(tx: Tx, deployment: Deployment) -> None:
    """Serve the deployment from the next announcement on. The release before is remembered, once: the step
    may be repeated."""
    if not deployment.switched:
        before = (await get_target(tx, deployment.env_id)).release
        await store.set_switched(tx, deployment.id, switched=True, before=before)
    await environments.set_release(tx, deployment.env_id, release_of(deployment.digest))


async def switch_back(tx: Tx, deployment: Deployment) -> None:
    if deployment.switched:
        await environments.set_release(tx, deployment.env_id, deployment.release_before)
        await store.set_switched(tx, deployment.id, switched=False, before=None)
        await permanent_urls.end(tx, deployment.id)


async def _supersede_live(tx: Tx, env: str) -> None:
    live = await store.find_live(tx, env)
    if live is not None:
        await set_status(tx, live.id, "superseded")


async def _publish_event(tx: Tx, deployment: Deployment, event: EventType, reason: str | None) -> None:
    target = await get_target(tx, deployment.env_id)
    about = About(
        account_id=target.account_id,
        team_id=target.team_id,
        site_id=deployment.site_id,
        env_id=deployment.env_id,
        job_id=await store.get_job_id(tx, deployment.id),
    )
    data: dict[str, str | None] = {
        "deployment_id": deployment.id,
        "artifact_id": deployment.artifact_id,
        "digest": deployment.digest,
        "ref": deployment.ref,
        "commit": deployment.commit,
    }
    if event == DEPLOY_FAILED:
        data["reason"] = reason
    await publish(tx, event, about, domain=target.domain, **data)
