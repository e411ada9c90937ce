"""The steps that replace redirects: announced to every edge, then confirmed by a request."""

from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Results,
    Workflow,
    announce_step,
    control_step,
    node_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.redirects import jobs
from stead.control.redirects import service as redirects
from stead.control.redirects.events import SITE_REDIRECTS_CHANGED
from stead.control.redirects.jobs import RedirectsWork
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work.hosting import Probe


async def _replace(tx: Tx, job: Job[RedirectsWork]) -> Announcement | None:
    await redirects.replace(tx, job.site_id, job.params.rules, job=job.id)
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _revert(tx: Tx, job: Job[RedirectsWork]) -> Announcement | None:
    await redirects.revert(tx, job.site_id, job=job.id)
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _probe_redirect(tx: Tx, job: Job[RedirectsWork]) -> NodeCommand | None:
    """A request that the first rule matches is redirected."""
    env = await environments.get_production(tx, job.site_id)
    if not job.params.rules:
        return await node_commands.build_environment_command(tx, env, Probe(env.subdomain))
    first = job.params.rules[0]
    probe = Probe(env.subdomain, first.from_.removesuffix("*"), status=first.code)
    return await node_commands.build_environment_command(tx, env, probe)


async def _finish(tx: Tx, job: Job[RedirectsWork]) -> Results | None:
    await sites.publish_job_event(tx, job, SITE_REDIRECTS_CHANGED, rules=len(job.params.rules))
    return None


REPLACE_REDIRECTS = Workflow(
    jobs.REPLACE_REDIRECTS,
    steps=[
        announce_step("apply", _replace, undo=_revert),
        node_step("probe", _probe_redirect),
        control_step("done", _finish),
    ],
    failed=record_nothing,
)
