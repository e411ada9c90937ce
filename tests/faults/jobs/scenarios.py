"""For each kind of job: a site in the state it starts from, what starts it, and what it leaves behind."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from stead.control import features
from stead.control.builds.rules import BuildUnavailable
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import EnvironmentBusy
from stead.control.environments.workflows import destruction
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Workflow
from stead.control.jobs.rules import NoNode
from stead.control.sites import workflows
from stead.control.sites.jobs import SiteWork
from stead.shared.ids import new_id
from tests.delivery.delivery import Delivery
from tests.delivery.delivery import Site as Place
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.rotation import chosen
from tests.feature_samples import merged

NOWHERE = "no-such-region"
_SIGNING = asyncio.Lock()


Settings = dict[str, Any]
Rules = list[dict[str, Any]]


@dataclass(frozen=True)
class Said:
    """What the owner of a site has said about it, as the database has it."""

    site: Settings = field(default_factory=dict)
    environment: Settings = field(default_factory=dict)
    redirects: Rules = field(default_factory=list)


OPEN: Settings = {"security": {"allowed_ips": ["127.0.0.0/8"]}}
CLOSED: Settings = {"security": {"allowed_ips": ["192.0.2.0/24"]}}
"""The visitors of these tests come from here, and never from there."""
OLD_RULES: Rules = [{"from": "/old", "to": "/one", "code": 301}]
NEW_RULES: Rules = [{"from": "/old", "to": "/two", "code": 302}]


@dataclass
class Site:
    domain: str
    id: str = ""
    env: str = ""
    """Of the environment that its jobs are about; production's unless it is said."""
    subdomain: str = ""
    artifacts: list[str] = field(default_factory=list)
    """The oldest first; each has a page that no other has."""
    deployments: list[str] = field(default_factory=list)
    staging: str = ""

    @property
    def host(self) -> str:
        """Where its visitors come."""
        return self.subdomain or self.domain

    @property
    def clone(self) -> str:
        return self.env or self.staging

    async def become(self, harness: Harness, status: str) -> str:
        """By SQL, behind the back of a job that expects another one."""
        await harness.sql("update sites set status = $2 where id = $1", self.id, status)
        return status

    async def clone_becomes(self, harness: Harness, status: str) -> str:
        await harness.sql("update environments set status = $2 where id = $1", self.clone, status)
        return status


@dataclass(frozen=True)
class Left:
    """What there is of a site, or of the environment besides production that a job was about, once it has
    ended."""

    status: str
    routed: bool
    carried: bool
    placed: bool
    reason: bool = False
    """Whether the site says why it is as it is."""
    said: Said = Said()
    shows: int = 0
    """Which of its artifacts visitors see, by age; 0 for none."""


@dataclass(frozen=True)
class Refusal:
    code: str
    message: str
    status: str | None = None
    """What the site is afterwards, where the refusal itself decides that."""
    placed: bool | None = None


Prepare = Callable[[Harness], Awaitable[Site]]
Start = Callable[[Harness, Site], Awaitable[str]]
Refuse = Callable[[Harness, Site], Awaitable[Refusal]]


@dataclass(frozen=True)
class Scenario:
    prepare: Prepare
    start: Start
    succeeded: Left
    failed: Left
    event: str | None
    """Written once when it succeeds."""
    afterwards: Start
    """A job that may follow one that failed, and must succeed."""
    cancelled_early: Left
    """Once it was cancelled before anybody had taken it up."""
    failure_event: str | None = None
    failed_at: Mapping[str, Left] = field(default_factory=dict)
    """Where failing in a certain step leaves something else."""
    refuse: Mapping[str, Refuse | None] = field(default_factory=dict)
    """What makes each control step refuse, called before the job is taken up; None where none can."""

    def failed_in(self, step: str) -> Left:
        return self.failed_at.get(step, self.failed)


async def new_site(harness: Harness) -> Site:
    return Site(f"{new_id('site').removeprefix('site_')}.example.com")


async def running_site(harness: Harness) -> Site:
    site = await new_site(harness)
    await _done(harness, await deploy(harness, site))
    return site


async def deleted_site(harness: Harness) -> Site:
    site = await running_site(harness)
    await _done(harness, await delete(harness, site))
    return site


async def redirecting_site(harness: Harness) -> Site:
    site = await running_site(harness)
    await _done(harness, await redirect(harness, site, OLD_RULES))
    return site


async def configured_site(harness: Harness) -> Site:
    site = await running_site(harness)
    await _done(harness, await configure(harness, site, OPEN))
    return site


async def configured_environment(harness: Harness) -> Site:
    site = await running_site(harness)
    await _done(harness, await configure_environment(harness, site, OPEN))
    return site


async def repository_site(harness: Harness) -> Site:
    """Connected after its first deployment, so that nothing is built but what is asked for."""
    site = await running_site(harness)
    await harness.sql(
        "update sites set git_repo = 'https://git.example.com/site.git', git_branch = 'main' where id = $1",
        site.id,
    )
    return site


async def deployed_site(harness: Harness) -> Site:
    """It shows the first of two artifacts."""
    site = await running_site(harness)
    delivery = Delivery(harness)
    ((env,),) = await harness.sql("select id from environments where site_id = $1", site.id)
    place = Place(site.id, env, site.domain)
    for number in (1, 2):
        files = {"index.html": f"the page {number}", f"only-{number}.html": site.domain}
        # Signing holds a connection while it stores, and the tests have only two.
        async with _SIGNING:
            site.artifacts.append(await delivery.artifact(place, files))
    await _done(harness, await deploy_artifact(harness, site, 0))
    return site


async def redeployed_site(harness: Harness) -> Site:
    """It shows the second, and has shown the first."""
    site = await deployed_site(harness)
    await _done(harness, await deploy_artifact(harness, site, 1))
    return site


async def staged_site(harness: Harness) -> Site:
    """It shows the first, and its staging the second."""
    site = await deployed_site(harness)
    site.staging = new_id("env")
    await harness.sql(
        "insert into environments (id, site_id, type, subdomain, status, created_at)"
        " values ($1, $2, 'staging', $1, 'running', now())",
        *(site.staging, site.id),
    )
    async with harness.database.transaction() as tx:
        await deployments.record_live(tx, site.staging, site.artifacts[1], None, "clone")
    return site


async def expired_site(harness: Harness) -> Site:
    site = await redirecting_site(harness)
    await _done(harness, await delete(harness, site))
    past = datetime.now(UTC) - timedelta(days=1)
    await harness.sql("update sites set recoverable_until = $2 where id = $1", site.id, past)
    return site


async def _done(harness: Harness, job: str) -> None:
    await harness.ended(job)
    ((status, error),) = await harness.sql("select status, error from jobs where id = $1", job)
    assert status == "succeeded", error


async def deploy(harness: Harness, site: Site, **more: Any) -> str:
    body = {"domain": site.domain, "profile": "static", **more}
    job = await harness.ask("POST", "/v1/sites", body)
    site.id = job["resource"]["site_id"]
    return str(job["id"])


async def restart(harness: Harness, site: Site) -> str:
    return str((await harness.ask("POST", f"/v1/sites/{site.id}/restart"))["id"])


async def recover(harness: Harness, site: Site) -> str:
    return str((await harness.ask("POST", f"/v1/sites/{site.id}/recover"))["id"])


async def delete(harness: Harness, site: Site) -> str:
    body = {"confirm_domain": site.domain}
    return str((await harness.ask("DELETE", f"/v1/sites/{site.id}", body))["id"])


async def configure(harness: Harness, site: Site, wanted: Settings = CLOSED) -> str:
    return str((await harness.ask("PATCH", f"/v1/sites/{site.id}/config", wanted))["id"])


async def configure_environment(harness: Harness, site: Site, wanted: Settings = CLOSED) -> str:
    path = f"/v1/sites/{site.id}/environments/production/config"
    return str((await harness.ask("PATCH", path, wanted))["id"])


async def redirect(harness: Harness, site: Site, wanted: Rules = NEW_RULES) -> str:
    body = {"redirects": wanted}
    return str((await harness.ask("PUT", f"/v1/sites/{site.id}/redirects", body))["id"])


async def purge_cache(harness: Harness, site: Site) -> str:
    path = f"/v1/sites/{site.id}/environments/production/cache/purge"
    return str((await harness.ask("POST", path))["id"])


async def build(harness: Harness, site: Site) -> str:
    path = f"/v1/sites/{site.id}/environments/production/builds"
    return str((await harness.ask("POST", path, {"builder": "static"}))["id"])


async def deploy_artifact(harness: Harness, site: Site, which: int = 1) -> str:
    path = f"/v1/sites/{site.id}/environments/production/deployments"
    job = await harness.ask("POST", path, {"artifact_id": site.artifacts[which]})
    site.deployments.append(job["resource"]["id"])
    return str(job["id"])


async def roll_back(harness: Harness, site: Site) -> str:
    path = f"/v1/sites/{site.id}/environments/production/deployments/{site.deployments[0]}/rollback"
    return str((await harness.ask("POST", path))["id"])


async def promote(harness: Harness, site: Site) -> str:
    path = f"/v1/sites/{site.id}/environments/{site.staging}/promote"
    return str((await harness.ask("POST", path, {"to_env": "production"}))["id"])


async def purge(harness: Harness, site: Site) -> str:
    """What a worker does every few minutes with every site that nobody can recover any more."""
    async with harness.database.transaction() as tx:
        owner = await tx.value("select coalesce(team_id, account_id) from sites where id = $1", site.id)
        subject = jobs.Subject(site.id, owner)
        return (await jobs.enqueue(tx, workflows.PURGE.kind, SiteWork(), subject, scope="sites:admin")).id


async def _no_node(harness: Harness, site: Site) -> Refusal:
    """Its region has no node, and the node that carried it is no more its own."""
    await harness.sql("update sites set region = $2 where id = $1", site.id, NOWHERE)
    await harness.sql("update environments set node_id = null where site_id = $1", site.id)
    return Refusal(NoNode.code, str(NoNode(region=NOWHERE)), placed=False)


async def _cannot_open(harness: Harness, site: Site) -> Refusal:
    now = await site.become(harness, "awaiting_push")
    return Refusal("site.busy", "The site cannot become running now.", now)


async def _cannot_close(harness: Harness, site: Site) -> Refusal:
    now = await site.become(harness, "running")
    return Refusal("site.busy", "The site is not being deleted any more.", now)


async def housing_site(harness: Harness, label: str = "staging") -> Site:
    """With something to show, and room for an environment."""
    site = await deployed_site(harness)
    rows = await harness.sql("select subdomain from environments where site_id = $1", site.id)
    slug, _, preview = rows[0]["subdomain"].partition(".")
    site.subdomain = f"{slug}-{label}.{preview}"
    return site


async def branching_site(harness: Harness) -> Site:
    return await housing_site(harness, "feature")


async def cloned_site(harness: Harness) -> Site:
    site = await housing_site(harness)
    await _done(harness, await clone(harness, site))
    return site


async def differing_site(harness: Harness) -> Site:
    """It shows the first, and its staging, which jobs are about, the second."""
    site = await cloned_site(harness)
    path = f"/v1/sites/{site.id}/environments/{site.env}/deployments"
    job = await harness.ask("POST", path, {"artifact_id": site.artifacts[1]})
    await _done(harness, job["id"])
    return site


async def pushing_site(harness: Harness) -> Site:
    """The same, but jobs are about production."""
    site = await differing_site(harness)
    site.staging, site.env, site.subdomain = site.env, "", ""
    return site


async def paused_site(harness: Harness) -> Site:
    site = await cloned_site(harness)
    await _done(harness, await suspend(harness, site))
    return site


async def expired_clone(harness: Harness) -> Site:
    site = await cloned_site(harness)
    await _done(harness, await delete(harness, site))
    past = datetime.now(UTC) - timedelta(days=1)
    await harness.sql("update sites set recoverable_until = $2 where id = $1", site.id, past)
    return site


async def clone(harness: Harness, site: Site) -> str:
    job = await harness.ask("POST", f"/v1/sites/{site.id}/environments", {"type": "staging"})
    site.env = job["resource"]["env_id"]
    return str(job["id"])


async def branch_out(harness: Harness, site: Site) -> str:
    body = {"type": "branch", "branch": "feature"}
    job = await harness.ask("POST", f"/v1/sites/{site.id}/environments", body)
    site.env = job["resource"]["env_id"]
    return str(job["id"])


async def _act(harness: Harness, site: Site, action: str) -> str:
    path = f"/v1/sites/{site.id}/environments/{site.clone}"
    if action == "destroy":
        return str((await harness.ask("DELETE", path))["id"])
    return str((await harness.ask("POST", f"{path}/{action}"))["id"])


async def destroy(harness: Harness, site: Site) -> str:
    return await _act(harness, site, "destroy")


async def suspend(harness: Harness, site: Site) -> str:
    return await _act(harness, site, "suspend")


async def resume(harness: Harness, site: Site) -> str:
    return await _act(harness, site, "resume")


async def refresh(harness: Harness, site: Site) -> str:
    return await _act(harness, site, "refresh")


async def reset(harness: Harness, site: Site) -> str:
    return await _act(harness, site, "reset")


async def push(harness: Harness, site: Site) -> str:
    return await _act(harness, site, "push")


async def purge_clone(harness: Harness, site: Site) -> str:
    """What a worker does with what the deletion of a site left."""
    async with harness.database.transaction() as tx:
        owner = await tx.value("select coalesce(team_id, account_id) from sites where id = $1", site.id)
        subject, work = jobs.Subject(site.id, owner, env_id=site.env), EnvironmentWork(site.env)
        return (await jobs.enqueue(tx, destruction.PURGE.kind, work, subject, scope="sites:admin")).id


def _clone_cannot(become: str, meanwhile: str) -> Refuse:
    async def refuse(harness: Harness, site: Site) -> Refusal:
        now = await site.clone_becomes(harness, meanwhile)
        return Refusal(EnvironmentBusy.code, f"The environment cannot become {become} now.", now)

    return refuse


async def _clone_is_paused(harness: Harness, site: Site) -> Refusal:
    now = await site.clone_becomes(harness, "suspended")
    return Refusal(EnvironmentBusy.code, str(EnvironmentBusy(status=now)), now if site.env else None)


async def _no_builder(harness: Harness, site: Site) -> Refusal:
    await harness.sql("update sites set region = $2 where id = $1", site.id, NOWHERE)
    absent = BuildUnavailable(region=NOWHERE, builder="static")
    return Refusal(absent.code, str(absent))


async def _suspended(harness: Harness, site: Site) -> Refusal:
    sql = "update environments set status = 'suspended' where site_id = $1 and type = 'production'"
    await harness.sql(sql, site.id)
    refusal = EnvironmentNotReady(status="suspended")
    return Refusal(refusal.code, str(refusal))


SERVED = Left("running", routed=True, carried=True, placed=True)
KEPT = Left("deleted", routed=False, carried=True, placed=True)
FIRST, SECOND = replace(SERVED, shows=1), replace(SERVED, shows=2)
EXPIRED = replace(KEPT, said=Said(redirects=OLD_RULES))
PAUSED = replace(FIRST, status="suspended")
UNMADE = Left("failed", routed=False, carried=False, placed=False, reason=True)
ENDED = Left("deleted", routed=False, carried=False, placed=False)
LEFT_OVER = replace(KEPT, shows=1)


def _creating(prepare: Prepare, start: Start) -> Scenario:
    return Scenario(
        prepare,
        start,
        succeeded=FIRST,
        failed=UNMADE,
        event="env.created",
        failure_event="env.failed",
        afterwards=destroy,
        cancelled_early=UNMADE,
        refuse={"place": _no_node, "content": None, "open": _clone_cannot("running", "suspended")},
    )


def _changing(prepare: Prepare, start: Start, event: str, *, old: Left, new: Left) -> Scenario:
    return Scenario(
        prepare,
        start,
        succeeded=new,
        failed=old,
        event=event,
        failure_event="env.failed",
        afterwards=start,
        cancelled_early=old,
        refuse={"content": _clone_is_paused, "done": None},
    )


SCENARIOS: dict[str, Scenario] = {
    "deployment.deploy": Scenario(
        new_site,
        deploy,
        succeeded=SERVED,
        failed=Left("failed", routed=False, carried=False, placed=False, reason=True),
        event="deploy.completed",
        failure_event="deploy.failed",
        afterwards=delete,
        cancelled_early=Left("failed", routed=False, carried=False, placed=False, reason=True),
        refuse={"place": _no_node, "open": _cannot_open},
    ),
    "site.restart": Scenario(
        running_site,
        restart,
        succeeded=SERVED,
        failed=Left("failed", routed=True, carried=True, placed=True, reason=True),
        event="site.restarted",
        failure_event="site.restart_failed",
        afterwards=restart,
        cancelled_early=SERVED,
        refuse={"place": _no_node, "open": _cannot_open},
    ),
    "site.restart/recover": Scenario(
        deleted_site,
        recover,
        succeeded=SERVED,
        failed=KEPT,
        event="site.recovered",
        failure_event="site.recovery_failed",
        afterwards=recover,
        cancelled_early=KEPT,
        refuse={"place": _no_node, "open": _cannot_open},
    ),
    "site.delete": Scenario(
        running_site,
        delete,
        succeeded=KEPT,
        failed=SERVED,
        event="site.deleted",
        failure_event="site.deletion_failed",
        afterwards=delete,
        cancelled_early=SERVED,
        refuse={"close": _cannot_close},
    ),
    "site.delete/purge": Scenario(
        expired_site,
        purge,
        succeeded=replace(EXPIRED, carried=False, placed=False),
        failed=EXPIRED,
        event=None,
        afterwards=purge,
        cancelled_early=EXPIRED,
        failed_at={
            "forget": replace(EXPIRED, carried=False),
            "displace": replace(EXPIRED, carried=False),
        },
        refuse={"displace": None},
    ),
    "site.config_apply": Scenario(
        configured_site,
        configure,
        succeeded=replace(SERVED, said=Said(site=CLOSED)),
        failed=replace(SERVED, said=Said(site=OPEN)),
        event="site.config_changed",
        afterwards=configure,
        cancelled_early=replace(SERVED, said=Said(site=OPEN)),
        refuse={"done": None},
    ),
    "environment.config_apply": Scenario(
        configured_environment,
        configure_environment,
        succeeded=replace(SERVED, said=Said(environment=CLOSED)),
        failed=replace(SERVED, said=Said(environment=OPEN)),
        event="environment.config_changed",
        afterwards=configure_environment,
        cancelled_early=replace(SERVED, said=Said(environment=OPEN)),
        refuse={"done": None},
    ),
    "job.redirects_apply": Scenario(
        redirecting_site,
        redirect,
        succeeded=replace(SERVED, said=Said(redirects=NEW_RULES)),
        failed=replace(SERVED, said=Said(redirects=OLD_RULES)),
        event="site.redirects_changed",
        afterwards=redirect,
        cancelled_early=replace(SERVED, said=Said(redirects=OLD_RULES)),
        refuse={"done": None},
    ),
    "build.run": Scenario(
        repository_site,
        build,
        succeeded=SERVED,
        failed=SERVED,
        event="build.succeeded",
        failure_event="build.failed",
        afterwards=build,
        cancelled_early=SERVED,
        refuse={"begin": _no_builder, "done": None},
    ),
    "deployment.deploy_artifact": Scenario(
        deployed_site,
        deploy_artifact,
        succeeded=SECOND,
        failed=FIRST,
        event="deploy.completed",
        failure_event="deploy.failed",
        afterwards=deploy_artifact,
        cancelled_early=FIRST,
        refuse={"begin": _suspended, "done": None},
    ),
    "deployment.promote": Scenario(
        staged_site,
        promote,
        succeeded=SECOND,
        failed=FIRST,
        event="deploy.promoted",
        failure_event="deploy.failed",
        afterwards=promote,
        cancelled_early=FIRST,
        refuse={"begin": _suspended, "done": None},
    ),
    "deployment.rollback": Scenario(
        redeployed_site,
        roll_back,
        succeeded=FIRST,
        failed=SECOND,
        event="deploy.rolled_back",
        failure_event="deploy.failed",
        afterwards=roll_back,
        cancelled_early=SECOND,
        refuse={"begin": _suspended, "done": None},
    ),
    "job.cache_purge": Scenario(
        running_site,
        purge_cache,
        succeeded=SERVED,
        failed=SERVED,
        event="environment.cache_purged",
        afterwards=purge_cache,
        cancelled_early=SERVED,
        refuse={"done": None},
    ),
    "environment.clone": _creating(housing_site, clone),
    "environment.create": _creating(branching_site, branch_out),
    "environment.refresh": _changing(differing_site, refresh, "env.refreshed", old=SECOND, new=FIRST),
    "environment.reset": _changing(differing_site, reset, "env.reset", old=SECOND, new=SERVED),
    "environment.push": _changing(pushing_site, push, "env.pushed", old=FIRST, new=SECOND),
    "environment.destroy": Scenario(
        cloned_site,
        destroy,
        succeeded=ENDED,
        failed=FIRST,
        event="env.destroyed",
        failure_event="env.failed",
        afterwards=destroy,
        cancelled_early=FIRST,
        refuse={"close": _clone_cannot("deleted", "running")},
    ),
    "environment.destroy/purge": Scenario(
        expired_clone,
        purge_clone,
        succeeded=replace(ENDED, shows=1),
        failed=LEFT_OVER,
        event=None,
        afterwards=purge_clone,
        # The simulator is asked only here to forget a host that no edge leads to any more.
        cancelled_early=replace(LEFT_OVER, routed=True),
        failed_at={
            "route": replace(LEFT_OVER, routed=True),
            "displace": replace(LEFT_OVER, carried=False),
        },
        refuse={"displace": None},
    ),
    "environment.suspend": Scenario(
        cloned_site,
        suspend,
        succeeded=PAUSED,
        failed=FIRST,
        event="env.suspended",
        failure_event="env.failed",
        afterwards=suspend,
        cancelled_early=FIRST,
        refuse={"pause": _clone_cannot("suspended", "running")},
    ),
    "environment.resume": Scenario(
        paused_site,
        resume,
        succeeded=FIRST,
        failed=PAUSED,
        event="env.resumed",
        failure_event="env.failed",
        afterwards=resume,
        cancelled_early=PAUSED,
        refuse={"open": _clone_cannot("running", "suspended")},
    ),
}


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Those here and those that features bring with their samples."""
    return {**SCENARIOS, **merged("scenarios")}


def scenario_of(kind: Workflow[Any]) -> Scenario:
    assert kind.name in scenarios(), (
        f"There is no fault scenario for {kind.name}: add one to `scenarios` in the feature's samples.py, of"
        " a site in the state the job starts from and what the job leaves behind."
    )
    return scenarios()[kind.name]


def refusal_of(kind: Workflow[Any], step: str) -> Refuse:
    refuse = scenario_of(kind).refuse.get(step)
    assert refuse is not None, (
        f"Nobody has said what makes the step {step} of {kind.name} refuse: add it to `refuse` of that"
        f" Scenario in {__file__}."
    )
    return refuse


def kinds() -> list[Workflow[Any]]:
    return chosen(features.workflows().values())
