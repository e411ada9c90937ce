"""The jobs of environments, step by step, with what undoes each."""

from collections.abc import Sequence

from stead.control.certificates import service as certificates
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import Deployment
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import contents, jobs
from stead.control.environments import service as environments
from stead.control.environments.events import (
    ENV_CREATED,
    ENV_DESTROYED,
    ENV_FAILED,
    ENV_PUSHED,
    ENV_REFRESHED,
    ENV_RESET,
    ENV_RESUMED,
    ENV_SUSPENDED,
)
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import Environment, EnvironmentBusy, EnvironmentStatus, before
from stead.control.jobs.definition import (
    Announcement,
    FailureHandler,
    NodeCommand,
    Refused,
    Results,
    Step,
    Workflow,
    announce_step,
    control_step,
    long_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.control.nodes import service as nodes
from stead.control.sites import service as sites
from stead.protocol.work import EnsureRoute, Probe, RemoveEnvironment, RemoveRoute, Work

EnvironmentJob = Job[EnvironmentWork]


async def _environment(tx: Tx, job: EnvironmentJob) -> Environment:
    return await environments.get(tx, job.params.environment)


async def _node_command(tx: Tx, job: EnvironmentJob, work: Work) -> NodeCommand:
    return await sites.node_command(tx, job.site_id, await _environment(tx, job), work)


async def _node_command_if_placed(tx: Tx, job: EnvironmentJob, work: Work) -> NodeCommand | None:
    environment = await _environment(tx, job)
    return (
        None if environment.node_id is None else await sites.node_command(tx, job.site_id, environment, work)
    )


async def _place(tx: Tx, job: EnvironmentJob) -> None:
    """Beside production, whose release is there already, if there is room."""
    environment = await _environment(tx, job)
    if environment.node_id is not None:
        return
    facts, production = await sites.facts(tx, job.site_id), await environments.production(tx, job.site_id)
    node = await nodes.place(tx, facts.region, wanted_since=job.dispatched_at, prefer=production.node_id)
    await environments.put_on(tx, environment.id, node)


async def _displace(tx: Tx, job: EnvironmentJob) -> None:
    await environments.put_on(tx, (await _environment(tx, job)).id, None)


async def _ensure_new(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await _node_command(tx, job, await contents.chosen_environment(tx, job))


async def _ensure_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await _node_command(tx, job, await contents.environment_as_it_was(tx, job))


async def _remove_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await _node_command_if_placed(tx, job, RemoveEnvironment())


async def _bring_environment_back(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await _node_command_if_placed(tx, job, await contents.environment_as_it_was(tx, job))


async def _serve(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    return await announcements.serve_environment(tx, job.params.environment)


async def _withdraw_new(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    await environments.show(tx, job.params.environment, None)
    return await _withdraw(tx, job)


async def _withdraw(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    return await announcements.withdraw_environment(tx, job.params.environment)


async def _serve_as_before(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    """It is said to be what it was before the edges are told so."""
    await _return(tx, job)
    return await _serve(tx, job)


async def _simulate_route(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """The simulator has no edge."""
    if not (await sites.facts(tx, job.site_id)).is_test:
        return None
    return await _node_command_if_placed(tx, job, EnsureRoute(((await _environment(tx, job)).subdomain,)))


async def _simulate_no_route(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    facts = await sites.facts(tx, job.site_id)
    return await _node_command_if_placed(tx, job, RemoveRoute()) if facts.is_test else None


async def _simulate_route_as_before(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """What could not be made had no route."""
    return await _simulate_route(tx, job) if job.params.status_before != "failed" else None


async def _probe(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await _node_command(tx, job, Probe((await _environment(tx, job)).subdomain))


async def _move(
    tx: Tx, job: EnvironmentJob, status: EnvironmentStatus, *, after: tuple[EnvironmentStatus, ...]
) -> Environment:
    if not await environments.become(tx, job.params.environment, status, after=after):
        raise Refused(EnvironmentBusy.code, f"The environment cannot become {status} now.")
    return await _environment(tx, job)


async def _return(tx: Tx, job: EnvironmentJob) -> None:
    """What was under way has not come about: it is what it was."""
    was = job.params
    under_way: tuple[EnvironmentStatus, ...] = ("provisioning", "suspending", "deleting")
    from_ = tuple(status for status in under_way if status in before(was.status_before))
    await environments.become(tx, was.environment, was.status_before, after=from_, reason=was.reason_before)


async def _open(tx: Tx, job: EnvironmentJob) -> Environment:
    environment = await _move(tx, job, "running", after=("provisioning",))
    facts = await sites.facts(tx, job.site_id)
    if not facts.is_test:
        await certificates.request_certificate(tx, job.site_id, environment.subdomain, facts.region)
    return environment


def _results(environment: Environment, deployment: Deployment | None = None) -> Results:
    found: Results = {"env_id": environment.id, "url": f"http://{environment.subdomain}/"}
    if environment.branch is not None:
        found["branch"] = environment.branch
    if deployment is not None:
        found |= {"deployment_id": deployment.id, "release_id": deployment.id}
        found |= {"artifact_id": deployment.artifact_id, "digest": deployment.digest}
    return found


async def _open_first(tx: Tx, job: EnvironmentJob) -> Results:
    environment, deployment = await _open(tx, job), await contents.shown(tx, job)
    await environments.tell(tx, environment, ENV_CREATED, job.id)
    return _results(environment, deployment)


async def _open_again(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await _open(tx, job)
    await environments.tell(tx, environment, ENV_RESUMED, job.id)
    return _results(environment)


async def _refreshed(tx: Tx, job: EnvironmentJob) -> Results:
    environment, deployment = await _environment(tx, job), await contents.shown(tx, job)
    await environments.tell(tx, environment, ENV_REFRESHED, job.id)
    return _results(environment, deployment)


async def _was_reset(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await _environment(tx, job)
    await contents.shown(tx, job)
    await environments.tell(tx, environment, ENV_RESET, job.id)
    return _results(environment)


async def _pushed(tx: Tx, job: EnvironmentJob) -> Results:
    environment, facts = await _environment(tx, job), await sites.facts(tx, job.site_id)
    deployment = await contents.shown(tx, job)
    await environments.tell(tx, environment, ENV_PUSHED, job.id)
    return {**_results(environment, deployment), "url": f"http://{facts.domain}/"}


async def _pause(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await _move(tx, job, "suspended", after=("suspending",))
    await environments.tell(tx, environment, ENV_SUSPENDED, job.id, reason=job.params.why)
    return {"env_id": environment.id}


async def _close(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await _move(tx, job, "deleted", after=("deleting",))
    await _displace(tx, job)
    await deployments.go_bare(tx, environment.id)
    await certificates.remove_certificate(tx, environment.subdomain)
    await environments.tell(tx, environment, ENV_DESTROYED, job.id, reason=job.params.why)
    return {"env_id": environment.id}


async def _tell_failure(tx: Tx, job: EnvironmentJob, action: str, reason: str) -> None:
    await environments.tell(tx, await _environment(tx, job), ENV_FAILED, job.id, action=action, reason=reason)


async def _creation_failed(tx: Tx, job: EnvironmentJob, reason: str) -> None:
    await environments.become(tx, job.params.environment, "failed", after=("provisioning",), reason=reason)
    await contents.give_up(tx, job, reason)
    await _tell_failure(tx, job, "create", reason)


def _went_back(action: str) -> FailureHandler:
    """Everything was undone: it is what it was."""

    async def failed(tx: Tx, job: EnvironmentJob, reason: str) -> None:
        await _return(tx, job)
        await _tell_failure(tx, job, action, reason)

    return failed


def _stayed(action: str) -> FailureHandler:
    """It shows what it showed. Its status was none of the job's: by now it may be another's."""

    async def failed(tx: Tx, job: EnvironmentJob, reason: str) -> None:
        await contents.give_up(tx, job, reason)
        await _tell_failure(tx, job, action, reason)

    return failed


async def _purge_failed(_tx: Tx, _job: EnvironmentJob, _reason: str) -> None:
    """It is still where it was, and is tried again."""


_CREATING: Sequence[Step] = (
    control_step("place", _place, undo=_displace),
    control_step("content", contents.seed),
    node_step("environment", _ensure_new, undo=_remove_environment),
    Step(
        "route",
        command=_simulate_route,
        announce=contents.show,
        undo_command=_simulate_no_route,
        undo_announce=_withdraw_new,
    ),
    node_step("probe", _probe),
    control_step("open", _open_first),
)

CLONE = Workflow(
    jobs.CLONE,
    steps=_CREATING,
    failed=_creation_failed,
)

CREATE = Workflow(
    jobs.CREATE,
    steps=_CREATING,
    failed=_creation_failed,
)

DESTROY = Workflow(
    jobs.DESTROY,
    steps=[
        Step(
            "route",
            command=_simulate_no_route,
            announce=_withdraw,
            undo_command=_simulate_route_as_before,
            undo_announce=_serve_as_before,
        ),
        node_step("environment", _remove_environment, undo=_bring_environment_back),
        control_step("close", _close),
    ],
    failed=_went_back("destroy"),
)

SUSPEND = Workflow(
    jobs.SUSPEND,
    steps=[
        announce_step("route", _serve, undo=_serve_as_before),
        control_step("pause", _pause),
    ],
    failed=_went_back("suspend"),
)

RESUME = Workflow(
    jobs.RESUME,
    steps=[
        node_step("environment", _ensure_environment),
        announce_step("route", _serve, undo=_serve_as_before),
        node_step("probe", _probe),
        control_step("open", _open_again),
    ],
    failed=_went_back("resume"),
)

REFRESH = Workflow(
    jobs.REFRESH,
    steps=[
        control_step("content", contents.reseed),
        node_step("fetch", contents.fetch),
        node_step("probe", contents.attempt),
        announce_step("switch", contents.show, undo=contents.show_as_before),
        control_step("done", _refreshed),
    ],
    failed=_stayed("refresh"),
)

RESET = Workflow(
    jobs.RESET,
    steps=[
        control_step("content", contents.clear),
        announce_step("switch", contents.show, undo=contents.show_as_before),
        node_step("probe", _probe),
        control_step("done", _was_reset),
    ],
    failed=_stayed("reset"),
)

PUSH = Workflow(
    jobs.PUSH,
    steps=[
        control_step("content", contents.offer),
        long_step("copy", contents.verify_production),
        node_step("fetch", contents.fetch),
        node_step("probe", contents.attempt),
        announce_step("switch", contents.show, undo=contents.show_as_before),
        control_step("done", _pushed),
    ],
    failed=_stayed("push"),
)

PURGE = Workflow(
    jobs.PURGE,
    steps=[
        Step("route", command=_simulate_no_route),
        node_step("environment", _remove_environment),
        control_step("displace", _displace),
    ],
    failed=_purge_failed,
)
