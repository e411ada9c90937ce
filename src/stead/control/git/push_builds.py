"""Builds the newest push to each environment.

Pushes start at most one build per environment at a time. A push during a build is saved, replaces the one
that was saved before it, and is built when the build has ended.
"""

from stead.control.builds import service as builds
from stead.control.builds.rules import RefMissing
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import PRODUCTION
from stead.control.git import push_store, store
from stead.control.git.events import GIT_PUSH_SKIPPED
from stead.control.git.rules import Connection, PendingPush
from stead.control.jobs.rules import JobsWaiting
from stead.control.outbox.events import publish
from stead.control.sites import service as sites
from stead.shared.errors import ApiError

SHORT_DELAY, QUEUE_DELAY, LONG_DELAY = 1.0, 10.0, 60.0
"""Seconds until a build that cannot start now is tried again: its environment is almost ready, its owner has
too many queued jobs, or its environment cannot be built."""


async def build_newest_push(tx: Tx, env: str) -> str | None:
    """Start a build of the newest push; returns its job, or None if an older build is still running."""
    push = await push_store.lock_push(tx, env)
    if push is None or not push.is_waiting:
        return None
    if push.has_running_build:
        return await _replace_commit(tx, push)
    return await _build(tx, push)


async def follow_up_build(tx: Tx) -> int:
    """Act on the result of one finished build, then build what was pushed in the meantime.

    Returns the number of environments handled, 0 or 1.
    """
    push = await push_store.lock_next_push(tx)
    if push is None:
        return 0
    if not push.is_result_handled:
        await _handle_result(tx, push)
    if push.is_waiting:
        await _build_or_skip(tx, push)
    return 1


async def build_first_push(tx: Tx, site: str) -> None:
    """Build the head of a new site's branch."""
    connection = await store.lock_connection(tx, site)
    if connection is None or not connection.git_repo or not connection.git_branch:
        return
    if connection.choose_target(connection.git_branch) != "live":
        return
    env = (await environments.get_production(tx, site)).id
    await push_store.save_push(tx, env, site, connection.git_branch, None)
    push = await push_store.lock_push(tx, env)
    if push is not None:
        await _build_or_skip(tx, push)


async def finish_first_pushes(tx: Tx) -> int:
    """Sites that awaited a push and have a live deployment are now running."""
    found = await push_store.lock_sites_with_first_deployment(tx)
    for site in found:
        await sites.mark_first_push_live(tx, site)
    return len(found)


async def publish_skipped(tx: Tx, site: Connection, branch: str, commit: str | None, reason: str) -> None:
    data = {"branch": branch, "commit": commit, "target": site.choose_target(branch), "reason": reason}
    await publish(tx, GIT_PUSH_SKIPPED, site.about(), domain=site.domain, **data)


async def _build(tx: Tx, push: PendingPush) -> str | None:
    """Queue a build. Returns None if that is not possible now; it is tried again later."""
    try:
        job = await builds.enqueue(
            tx,
            push.site_id,
            push.env_id,
            source_ref=push.branch,
            commit=push.commit,
            auto_deploy=True,
            pushed=True,
        )
    except EnvironmentNotReady:
        await _postpone(tx, push, SHORT_DELAY)
        return None
    except JobsWaiting:
        await _postpone(tx, push, QUEUE_DELAY)
        return None
    await push_store.assign_build(tx, push, job.id)
    return job.id


async def _postpone(tx: Tx, push: PendingPush, delay: float) -> None:
    """A new environment is ready soon; a suspended or failed one may never be."""
    env = await environments.get(tx, push.env_id)
    if env.status in ("deleting", "deleted"):
        await push_store.delete_push(tx, push.env_id)
    else:
        is_built_soon = env.status in ("provisioning", "running")
        await push_store.postpone(tx, push.env_id, delay if is_built_soon else LONG_DELAY)


async def _replace_commit(tx: Tx, push: PendingPush) -> str | None:
    """Let a build that has not begun build the newest commit instead of its own."""
    if push.job_id is None or not await builds.replace_commit(
        tx, push.job_id, source_ref=push.branch, commit=push.commit
    ):
        return None
    await push_store.assign_build(tx, push, push.job_id)
    return push.job_id


async def _build_or_skip(tx: Tx, push: PendingPush) -> None:
    try:
        async with tx.savepoint():
            await _build(tx, push)
    except ApiError as refusal:
        await push_store.assign_build(tx, push, None)
        connection = await store.lock_connection(tx, push.site_id)
        if connection is not None:
            await publish_skipped(tx, connection, push.branch, push.commit, str(refusal))


async def _handle_result(tx: Tx, push: PendingPush) -> None:
    """If the branch is missing and the site was never deployed, the site awaits a push."""
    await push_store.mark_result_handled(tx, push.env_id)
    if push.job_error_code != RefMissing.code:
        return
    if (await environments.get(tx, push.env_id)).type != PRODUCTION:
        return
    if await deployments.find_live(tx, push.env_id) is None:
        await sites.mark_awaiting_push(tx, push.site_id, push.branch)
