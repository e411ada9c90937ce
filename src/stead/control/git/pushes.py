"""Decides what a push builds: its target, its environment, its build.

The caller's transaction must hold the lock of the site's connection.
"""

from stead.control.engines.postgres import Tx
from stead.control.environments import actions as environment_actions
from stead.control.environments import maintenance as environment_maintenance
from stead.control.environments import service as environments
from stead.control.git import push_builds, push_store
from stead.control.git.branch_rules import Target
from stead.control.git.events import GIT_PUSH_RECEIVED
from stead.control.git.rules import Connection, NoStaging, Push, PushDecision
from stead.control.outbox.events import publish
from stead.shared.errors import ApiError


async def receive_push(tx: Tx, site: Connection, push: Push, preview_domain: str) -> PushDecision:
    """The caller records the new head of the branch: a hook that of one, a poll those of all."""
    target = site.choose_target(push.branch)
    if push.commit is None:
        await environment_maintenance.record_branch_deleted(tx, site.site_id, push.branch)
        return PushDecision(push.branch, target, reason="The branch was deleted.")
    await environment_maintenance.record_branch_exists(tx, site.site_id, push.branch)
    if target == "ignore" or site.git_repo is None:
        return PushDecision(push.branch, "ignore", reason="The branch is not routed to an environment.")
    env = await _get_environment(tx, site, push, target, preview_domain)
    if push.source == "poll" and await push_store.is_newest_push(tx, env, push.branch, push.commit):
        return PushDecision(push.branch, target, env_id=env, reason="The push was received before.")
    await push_store.save_push(tx, env, site.site_id, push.branch, push.commit)
    job = await push_builds.build_newest_push(tx, env)
    about = site.about(env=env, job=job)
    data = {"branch": push.branch, "commit": push.commit, "target": target}
    await publish(tx, GIT_PUSH_RECEIVED, about, domain=site.domain, **data)
    if job is None:
        reason = "It is built as soon as the environment is ready and has no other build in progress."
        return PushDecision(push.branch, target, env_id=env, reason=reason)
    return PushDecision(push.branch, target, env_id=env, job_id=job)


async def skip_push(tx: Tx, site: Connection, push: Push, refusal: ApiError) -> PushDecision:
    """Publish why a push cannot be built."""
    await push_builds.publish_skipped(tx, site, push.branch, push.commit, str(refusal))
    return PushDecision(push.branch, site.choose_target(push.branch), reason=str(refusal))


async def _get_environment(tx: Tx, site: Connection, push: Push, target: Target, preview_domain: str) -> str:
    """The environment that the target means. A preview is created if there is none."""
    if target == "live":
        return (await environments.get_production(tx, site.site_id)).id
    if target == "staging":
        staging = await environments.find_staging(tx, site.site_id)
        if staging is None:
            raise NoStaging
        return staging.id
    env, _ = await environment_actions.create_for_branch(
        tx, site.site_id, push.branch, preview_domain=preview_domain
    )
    return env
