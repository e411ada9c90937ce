"""The steps that apply configuration: announced to every edge, then confirmed by a request."""

from stead.control.configuration import jobs
from stead.control.configuration import service as configuration
from stead.control.configuration.events import ENVIRONMENT_CONFIG_CHANGED, SITE_CONFIG_CHANGED
from stead.control.configuration.jobs import ConfigurationWork
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
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work import Probe


async def _apply(tx: Tx, job: Job[ConfigurationWork]) -> Announcement | None:
    await configuration.apply_change(tx, job.params.subject, job.site_id, job.params.change, job=job.id)
    return await _announce(tx, job)


async def _revert(tx: Tx, job: Job[ConfigurationWork]) -> Announcement | None:
    await configuration.revert_change(tx, job.params.subject, job=job.id)
    return await _announce(tx, job)


async def _announce(tx: Tx, job: Job[ConfigurationWork]) -> Announcement | None:
    if job.env_id is not None:
        return await announcements.serve_environment(tx, job.env_id)
    return await announcements.serve_site(tx, job.site_id)


async def _probe(tx: Tx, job: Job[ConfigurationWork]) -> NodeCommand | None:
    """The environment still answers. The node sends the request itself, so `allowed_ips` does not apply. A
    suspended environment does not answer; it uses the configuration once it is resumed."""
    if job.env_id is None:
        env = await environments.get_production(tx, job.site_id)
    else:
        env = await environments.get(tx, job.env_id)
    if env.status == "suspended":
        return None
    return await node_commands.build_environment_command(tx, env, Probe(env.subdomain))


async def _finish(tx: Tx, job: Job[ConfigurationWork]) -> Results | None:
    event = SITE_CONFIG_CHANGED if job.env_id is None else ENVIRONMENT_CONFIG_CHANGED
    await sites.publish_job_event(tx, job, event)
    return None


_STEPS = (
    announce_step("apply", _apply, undo=_revert),
    node_step("probe", _probe),
    control_step("done", _finish),
)

CONFIGURE_SITE = Workflow(jobs.CONFIGURE_SITE, steps=_STEPS, failed=record_nothing)
CONFIGURE_ENVIRONMENT = Workflow(jobs.CONFIGURE_ENVIRONMENT, steps=_STEPS, failed=record_nothing)
