"""Changing the content of an environment: refresh from production, reset, push to production."""

from stead.control.backups.snapshot_steps import build_snapshot_steps
from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments import jobs
from stead.control.environments import service as environments
from stead.control.environments.events import ENV_PUSHED, ENV_REFRESHED, ENV_RESET
from stead.control.environments.workflows import datasets, releases, steps
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Results,
    Step,
    Workflow,
    control_step,
    node_step,
)
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work.hosting import Probe


async def _probe_release(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """A release of WordPress needs the rows that come with it: it is checked after the switch, which is
    undone if it fails."""
    facts = await sites.get_facts(tx, job.site_id)
    if facts.runtime in node_commands.WITH_PROCESSES and not facts.is_test:
        return None
    return await releases.probe_release(tx, job)


async def _finish_refresh(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.get_environment(tx, job)
    deployment = await releases.finish_deployment(tx, job)
    await datasets.record_schema(tx, job)
    await environments.publish_event(tx, environment, ENV_REFRESHED, job.id)
    return steps.build_results(environment, deployment)


async def _finish_reset(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.get_environment(tx, job)
    await releases.finish_deployment(tx, job)
    await datasets.record_schema(tx, job)
    await environments.publish_event(tx, environment, ENV_RESET, job.id)
    return steps.build_results(environment)


async def _finish_push(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.get_environment(tx, job)
    production = await environments.get_production(tx, job.site_id)
    host = await domains.choose_host(tx, production.id, production.subdomain)
    deployment = None
    if await releases.has_deployment(tx, job):
        deployment = await releases.finish_deployment(tx, job)
    await datasets.record_pushed_schema(tx, job)
    await environments.publish_event(tx, environment, ENV_PUSHED, job.id)
    return {**steps.build_results(environment, deployment), "url": f"https://{host}/"}


async def _probe_pushed_release(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await _probe_release(tx, job) if await releases.has_deployment(tx, job) else None


async def _switch_production(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    """Without a release, only files and rows are pushed; the node purges the cache of production."""
    if await releases.has_deployment(tx, job):
        return await releases.switch_release(tx, job)
    return None


async def _restore_production(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    if await releases.has_deployment(tx, job):
        return await releases.restore_release(tx, job)
    return None


async def _check_production(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """The page of production, as visitors get it. If it fails, everything is undone."""
    production = await environments.get_production(tx, job.site_id)
    return await node_commands.build_environment_command(tx, production, Probe(production.subdomain))


_SWITCH = Step(
    "switch",
    command=datasets.serve,
    announce=releases.switch_release,
    undo_command=datasets.discard,
    undo_announce=releases.restore_release,
)

REFRESH = Workflow(
    jobs.REFRESH,
    steps=[
        control_step("content", releases.start_refresh),
        node_step("data", datasets.prepare_copy, undo=datasets.discard),
        node_step("fetch", releases.fetch_release),
        node_step("probe", _probe_release),
        _SWITCH,
        node_step("check", steps.probe),
        control_step("done", _finish_refresh),
    ],
    failed=releases.keep_release_after_failure("refresh"),
)

RESET = Workflow(
    jobs.RESET,
    steps=[
        control_step("content", releases.start_reset),
        node_step("data", datasets.prepare_installation, undo=datasets.discard),
        _SWITCH,
        node_step("probe", steps.probe),
        control_step("done", _finish_reset),
    ],
    failed=releases.keep_release_after_failure("reset"),
)

PUSH = Workflow(
    jobs.PUSH,
    steps=[
        control_step("content", releases.start_push),
        *build_snapshot_steps("before_push"),
        node_step("data", datasets.prepare_push, undo=datasets.discard_push),
        node_step("fetch", releases.fetch_release),
        node_step("probe", _probe_pushed_release),
        Step(
            "switch",
            command=datasets.serve_push,
            announce=_switch_production,
            undo_command=datasets.discard_push,
            undo_announce=_restore_production,
        ),
        node_step("check", _check_production),
        control_step("done", _finish_push),
    ],
    failed=releases.keep_release_after_failure("push"),
)
