"""What callers and other jobs do with deployments, each inside the caller's transaction."""

from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import Artifact, ArtifactNotFound
from stead.control.deployments import store
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
    EnvironmentNotReady,
    NeverLive,
    NothingLive,
    Place,
    VisibleDeployment,
)
from stead.control.deployments.schema import DeploymentView, NewDeployment, Promotion, ReleaseView
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import NodeCommand, Refused
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.rules import NoNode
from stead.control.jobs.schema import JobView
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.protocol.work import EnsureRelease, Work, release_of
from stead.shared.errors import FieldInvalid
from stead.shared.ids import DeploymentId, has_shape

_TOLD: dict[DeploymentKind, EventType] = {"promote": DEPLOY_PROMOTED, "rollback": DEPLOY_ROLLED_BACK}
_OF_ENVIRONMENTS: tuple[DeploymentKind, ...] = ("clone", "refresh", "push")
SCOPE = "deployments:write"
_JOBS: dict[DeploymentKind, JobKind[DeploymentWork]] = {
    "deploy": DEPLOY,
    "promote": PROMOTE,
    "rollback": ROLLBACK,
}


async def visible_deployment(
    call: Call, environment: VisibleEnvironment, deployment_id: str
) -> VisibleDeployment:
    known = has_shape("dep", deployment_id)
    found = await store.find(call.tx, environment, deployment_id) if known else None
    if found is None:
        raise DeploymentNotFound
    return found


async def browse(tx: Tx, env: str, page: PageRequest) -> Page[DeploymentView]:
    return await store.page(tx, env, page)


async def browse_releases(tx: Tx, env: str, page: PageRequest) -> Page[ReleaseView]:
    return await store.releases(tx, env, page)


async def deploy(tx: Tx, env: VisibleEnvironment, wanted: NewDeployment) -> JobView:
    return await enqueue(tx, env.id, wanted.artifact_id)


async def rollback(tx: Tx, env: VisibleEnvironment, former: VisibleDeployment) -> JobView:
    """To exactly the artifact of a deployment that was live once."""
    if former.deployed_at is None:
        raise NeverLive
    try:
        artifact = await artifacts.find(tx, env.site_id, former.artifact_id)
    except ArtifactNotFound:
        raise ArtifactNotKept from None
    return await _enqueue(tx, await ready(tx, env.id), artifact, "rollback", former.id)


async def promote(tx: Tx, caller: Principal, env: VisibleEnvironment, wanted: Promotion) -> JobView:
    """The environment that gets it must be one that the caller sees, too."""
    target = await environments.find_in_site(tx, caller, env.site_id, wanted.to_env)
    if target.id == env.id:
        raise FieldInvalid(param="to_env", reason="An environment is not promoted to itself.")
    shown = await store.live(tx, env.id)
    if shown is None:
        raise NothingLive
    artifact = await artifacts.find(tx, env.site_id, shown.artifact_id)
    return await _enqueue(tx, await ready(tx, target.id), artifact, "promote", shown.id)


async def enqueue(tx: Tx, env_id: str, artifact_id: str) -> JobView:
    """Deploy an artifact of its site to an environment; for a job as well as for a caller."""
    place = await ready(tx, env_id)
    artifact = await artifacts.find(tx, place.site_id, artifact_id)
    return await _enqueue(tx, place, artifact, "deploy", None)


async def _enqueue(
    tx: Tx,
    place: Place,
    artifact: Artifact,
    what: DeploymentKind,
    from_id: str | None,
) -> JobView:
    deployment = await store.insert(tx, place, artifact, what, from_id=from_id)
    subject = jobs.Subject(place.site_id, place.owner, env_id=place.env_id, id=deployment)
    job = await jobs.enqueue(tx, _JOBS[what], DeploymentWork(deployment), subject, scope=SCOPE)
    await store.set_job(tx, deployment, job.id)
    return job


async def ready(tx: Tx, env_id: str) -> Place:
    """An environment that can be deployed to."""
    found = await store.place(tx, env_id)
    if found is None:
        raise EnvironmentNotFound
    if not found.is_ready:
        raise EnvironmentNotReady(status=found.state)
    return found


async def current(tx: Tx, env_id: str) -> Deployment | None:
    """What visitors of the environment see; None while that is the placeholder."""
    return await store.live(tx, env_id)


async def release_work(tx: Tx, env_id: str) -> EnsureRelease | None:
    """What a node needs to show what the environment shows; None where that is the placeholder."""
    live, found = await store.live(tx, env_id), await place(tx, env_id)
    return (
        None if live is None else await artifacts.release(tx, found.site_id, live.artifact_id, found.runtime)
    )


async def release_command(tx: Tx, site_id: str, env_id: str, artifact_id: str) -> NodeCommand:
    """The artifact is on the node that carries the environment."""
    found = await place(tx, env_id)
    return node_command(found, await artifacts.release(tx, site_id, artifact_id, found.runtime))


def node_command(place: Place, work: Work) -> NodeCommand:
    if place.node_id is None:
        raise Refused(NoNode.code, "No node carries the environment.")
    return NodeCommand(place.node_id, place.env_id, "simulator" if place.mode == "test" else "live", work)


async def record_live(
    tx: Tx,
    env_id: str,
    artifact_id: str,
    job: str | None,
    kind: DeploymentKind,
    *,
    from_id: str | None = None,
) -> DeploymentId:
    """The environment shows the artifact from its next announcement on: a job has seen to it that its node
    has the release. What it showed before is superseded."""
    found = await place(tx, env_id)
    artifact = await artifacts.find(tx, found.site_id, artifact_id)
    await _supersede(tx, env_id)
    made = await store.insert(tx, found, artifact, kind, from_id=from_id, job=job, live_since=tx.now)
    await environments.set_release(tx, env_id, release_of(artifact.digest))
    if artifact.ref is not None:
        await environments.set_git_ref(tx, env_id, artifact.ref)
    return made


async def begin(
    tx: Tx, env_id: str, artifact_id: str, job: str, kind: DeploymentKind, *, from_id: str | None = None
) -> None:
    """A deployment that another job than its own carries out, and tells of."""
    found = await place(tx, env_id)
    artifact = await artifacts.find(tx, found.site_id, artifact_id)
    made = await store.insert(tx, found, artifact, kind, from_id=from_id, job=job)
    await become(tx, made, "deploying")


async def of_job(tx: Tx, job: str) -> Deployment | None:
    return await store.of_job(tx, job)


async def go_bare(tx: Tx, env_id: str) -> None:
    """The environment shows no deployment any more."""
    await _supersede(tx, env_id)
    await environments.set_release(tx, env_id, None)
    await environments.set_git_ref(tx, env_id, None)


async def place(tx: Tx, env_id: str) -> Place:
    found = await store.place(tx, env_id)
    if found is None:
        raise Refused(EnvironmentNotFound.code, "The environment is gone.")
    return found


async def get(tx: Tx, deployment: str) -> Deployment:
    found = await store.get(tx, deployment)
    if found is None:
        raise Refused(DeploymentNotFound.code, "The deployment is gone.")
    return found


async def become(tx: Tx, deployment: str, status: DeploymentStatus, *, reason: str | None = None) -> bool:
    """Move a deployment on, if it may, and tell whoever waits for that."""
    if not await store.set_status(tx, deployment, status, reason=reason):
        return False
    moved = await get(tx, deployment)
    event = {
        "deploying": DEPLOY_STARTED,
        "live": _TOLD.get(moved.kind, DEPLOY_COMPLETED),
        "failed": DEPLOY_FAILED,
    }.get(status)
    # One that is superseded is told by what took its place, and what became of a whole environment by that.
    if event is not None and moved.kind not in _OF_ENVIRONMENTS:
        await _tell(tx, moved, event, reason)
    return True


async def go_live(tx: Tx, deployment: Deployment) -> None:
    """What was live before is superseded in the same moment: an environment shows one."""
    await _supersede(tx, deployment.env_id)
    if not await become(tx, deployment.id, "live"):
        raise Refused(EnvironmentNotReady.code, "The deployment is not under way any more.")
    if deployment.ref is not None:
        await environments.set_git_ref(tx, deployment.env_id, deployment.ref)


async def switch(tx: Tx, deployment: Deployment) -> None:
    """From the next announcement on visitors see it; what they saw is remembered, once."""
    if not deployment.switched:
        before = (await place(tx, deployment.env_id)).release
        await store.set_switched(tx, deployment.id, switched=True, before=before)
    await environments.set_release(tx, deployment.env_id, release_of(deployment.digest))


async def switch_back(tx: Tx, deployment: Deployment) -> None:
    if deployment.switched:
        await environments.set_release(tx, deployment.env_id, deployment.release_before)
        await store.set_switched(tx, deployment.id, switched=False, before=None)


async def _supersede(tx: Tx, env: str) -> None:
    shown = await store.live(tx, env)
    if shown is not None:
        await become(tx, shown.id, "superseded")


async def _tell(tx: Tx, moved: Deployment, event: EventType, reason: str | None) -> None:
    found = await place(tx, moved.env_id)
    about = About(
        account_id=found.account_id,
        team_id=found.team_id,
        site_id=moved.site_id,
        env_id=moved.env_id,
        job_id=await store.job_of(tx, moved.id),
    )
    said = {"deployment_id": moved.id, "artifact_id": moved.artifact_id, "digest": moved.digest}
    why = {"reason": reason} if event == DEPLOY_FAILED else {}
    await publish(tx, event, about, domain=found.domain, **said, ref=moved.ref, commit=moved.commit, **why)
