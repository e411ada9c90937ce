"""The steps that apply configuration: announced to every edge, then confirmed by a request."""

import msgspec

from stead.control.configuration import jobs
from stead.control.configuration import service as configuration
from stead.control.configuration.events import ENVIRONMENT_CONFIG_CHANGED, SITE_CONFIG_CHANGED
from stead.control.configuration.jobs import ConfigurationWork
from stead.control.deployments import service as deployments
from stead.control.domains import service as domains
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment
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
from stead.control.wordpress import service as wordpress
from stead.protocol.work.hosting import EnsureEnvironment, Probe


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


async def _start_processes(tx: Tx, job: Job[ConfigurationWork]) -> NodeCommand | None:
    """PHP is started with the number of its workers. This comes before the change is stored, so that its undo
    finds the settings from before."""
    wanted = await configuration.get_effective_after(tx, job.site_id, job.env_id, job.params)
    return await _ensure_processes(tx, job, wanted.performance.php_workers)


async def _restore_processes(tx: Tx, job: Job[ConfigurationWork]) -> NodeCommand | None:
    return await _ensure_processes(tx, job, None)


async def _ensure_processes(tx: Tx, job: Job[ConfigurationWork], workers: int | None) -> NodeCommand | None:
    env, facts = await _changed_environment(tx, job), await sites.get_facts(tx, job.site_id)
    concerned = facts.is_test or "php_workers" in job.params.change.get("performance", {})
    if env.status == "suspended" or not concerned:
        return None
    if not await node_commands.has_reachable_processes(tx, env, job):
        return None
    host = await domains.choose_host(tx, env.id, env.subdomain)
    settings = await wordpress.build_settings(tx, env, host)
    if settings is not None and workers is not None:
        settings = msgspec.structs.replace(settings, workers=workers)
    release = await deployments.find_live_release(tx, env.id)
    work = EnsureEnvironment(facts.runtime, release, settings)
    return await node_commands.build_environment_command(tx, env, work)


async def _changed_environment(tx: Tx, job: Job[ConfigurationWork]) -> Environment:
    if job.env_id is None:
        return await environments.get_production(tx, job.site_id)
    return await environments.get(tx, job.env_id)


async def _probe(tx: Tx, job: Job[ConfigurationWork]) -> NodeCommand | None:
    """The environment still answers. The node sends the request itself, so `allowed_ips` does not apply. A
    suspended environment does not answer; it uses the configuration once it is resumed."""
    env = await _changed_environment(tx, job)
    if env.status == "suspended":
        return None
    return await node_commands.build_environment_command(tx, env, Probe(env.subdomain))


async def _finish(tx: Tx, job: Job[ConfigurationWork]) -> Results | None:
    event = SITE_CONFIG_CHANGED if job.env_id is None else ENVIRONMENT_CONFIG_CHANGED
    await sites.publish_job_event(tx, job, event)
    return None


_STEPS = (
    node_step("processes", _start_processes, undo=_restore_processes),
    announce_step("apply", _apply, undo=_revert),
    node_step("probe", _probe),
    control_step("done", _finish),
)

CONFIGURE_SITE = Workflow(jobs.CONFIGURE_SITE, steps=_STEPS, failed=record_nothing)
CONFIGURE_ENVIRONMENT = Workflow(jobs.CONFIGURE_ENVIRONMENT, steps=_STEPS, failed=record_nothing)
