"""What a push does, however it was heard of: its route, its environment, its build.

An environment has at most one build under way because of a push. What is pushed in the meantime is only
noted, each replacing the one before it, and the newest is built when that build has ended.
"""

from datetime import timedelta

import msgspec

from stead.control.builds import service as builds
from stead.control.builds.rules import RefMissing
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.engines.postgres import Database, Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import PRODUCTION
from stead.control.git import push_store as store
from stead.control.git import service as git
from stead.control.git.events import GIT_PUSH_RECEIVED, GIT_PUSH_SKIPPED, GIT_UNREACHABLE
from stead.control.git.payloads import Delivery
from stead.control.git.push_rules import Decision, Decisions, NoStaging, Push, Wanted
from stead.control.git.rules import Connection, Due, Target
from stead.control.jobs.rules import JobsWaiting
from stead.control.outbox.events import publish
from stead.control.sites import service as sites
from stead.shared.errors import ApiError

SOON, LATER = 1.0, 60.0
"""Seconds until something is tried again."""
UNREACHABLE_AFTER = 3
"""So often in a row a repository cannot be asked before its owner is told."""


async def receive(tx: Tx, site: Connection, push: Push, preview_domain: str) -> Decision:
    """Decide about a push, in the transaction that holds the site's connection."""
    target = site.target(push.branch)
    await git.remember(tx, site.site_id, push.branch, push.commit)
    if push.commit is None:
        await environments.branch_gone(tx, site.site_id, push.branch)
        return Decision(push.branch, target, reason="The branch is gone.")
    await environments.branch_seen(tx, site.site_id, push.branch)
    if target == "ignore" or site.git_repo is None:
        return Decision(push.branch, "ignore", reason="No route leads anywhere.")
    env = await _environment(tx, site, push, target, preview_domain)
    if push.via == "poll" and await store.is_wanted(tx, env, push.branch, push.commit):
        return Decision(push.branch, target, env_id=env, reason="It was heard of before.")
    await store.want(tx, env, site.site_id, push.branch, push.commit)
    job = await follow(tx, env)
    about = site.about(env=env, job=job)
    told = {"branch": push.branch, "commit": push.commit or None, "target": target}
    await publish(tx, GIT_PUSH_RECEIVED, about, domain=site.domain, **told)
    if job is None:
        reason = "It is built as soon as the environment is ready and has no build under way."
        return Decision(push.branch, target, env_id=env, reason=reason)
    return Decision(push.branch, target, env_id=env, job_id=job)


async def skip(tx: Tx, site: Connection, push: Push, refusal: ApiError) -> Decision:
    """Nothing comes of a push; its owner is told why."""
    await git.remember(tx, site.site_id, push.branch, push.commit)
    await _tell_skipped(tx, site, push.branch, push.commit, str(refusal))
    return Decision(push.branch, site.target(push.branch), reason=str(refusal))


async def _tell_skipped(tx: Tx, site: Connection, branch: str, commit: str | None, reason: str) -> None:
    said = {"branch": branch, "commit": commit or None, "target": site.target(branch), "reason": reason}
    await publish(tx, GIT_PUSH_SKIPPED, site.about(), domain=site.domain, **said)


async def decide(database: Database, due: Due, push: Push, preview_domain: str) -> None:
    """In transactions of its own: what is refused half-way leaves nothing but the telling of it."""
    refusal: ApiError | None = None
    for _ in range(2):
        try:
            async with database.transaction() as tx:
                held = await git.hold(tx, due.site_id)
                if held is None or held.hook_heard_at != due.hook_heard_at:
                    return
                if refusal is not None:
                    await skip(tx, held, push, refusal)
                else:
                    await receive(tx, held, push, preview_domain)
                return
        except ApiError as refused:
            refusal = refused


async def follow(tx: Tx, env: str) -> str | None:
    """Build the newest push of an environment, unless a build of an older one is under way."""
    push = await store.wanted(tx, env)
    if push is None or not push.waits:
        return None
    if push.under_way:
        return await _replace(tx, push)
    return await _build(tx, push)


async def follow_up(tx: Tx) -> int:
    """One environment whose build has ended: what it came to, then whatever was pushed in the meantime."""
    push = await store.to_follow(tx)
    if push is None:
        return 0
    if not push.settled:
        await _settle(tx, push)
    if push.waits:
        await _build_or_skip(tx, push)
    return 1


async def first_push(tx: Tx, site: str) -> None:
    """A site that is served for the first time is built from its branch, wherever that stands."""
    held = await git.hold(tx, site)
    if held is None or not held.git_repo or not held.git_branch or held.target(held.git_branch) != "live":
        return
    env = (await environments.production(tx, site)).id
    await store.want(tx, env, site, held.git_branch, "")
    push = await store.wanted(tx, env)
    if push is not None:
        await _build_or_skip(tx, push)


async def greet_arrived(tx: Tx) -> int:
    """Sites that waited for a push and show something now."""
    arrived = await store.arrived(tx)
    for site in arrived:
        await sites.arrived(tx, site)
    return len(arrived)


async def forget_deliveries(tx: Tx) -> int:
    return await store.forget_deliveries(tx)


async def hear(
    database: Database, site: str, digest: bytes, delivery: Delivery, preview_domain: str, *, quiet: timedelta
) -> Decisions:
    """A delivery that its forge has vouched for. Heard again, it is answered as it was the first time."""
    refusal: ApiError | None = None
    for _ in range(2):
        try:
            async with database.transaction() as tx:
                return await _hear(tx, site, digest, delivery, preview_domain, quiet, refusal)
        except ApiError as refused:
            # Nothing of it has happened; the second time only that is told.
            refusal = refused
    raise LookupError("a refusal was refused")


async def _hear(
    tx: Tx,
    site: str,
    digest: bytes,
    delivery: Delivery,
    preview_domain: str,
    quiet: timedelta,
    refusal: ApiError | None,
) -> Decisions:
    held = await git.hold(tx, site)
    if not await store.first_time(tx, site, digest):
        return msgspec.convert(await store.answer(tx, site, digest), Decisions)
    answer = Decisions([])
    if held is not None and delivery.push is not None:
        push = delivery.push
        await git.heard_hook(tx, site, quiet)
        if not delivery.is_of(held.git_repo):
            answer.decisions.append(Decision(push.branch, "ignore", reason="It is of another repository."))
        elif refusal is not None:
            answer.decisions.append(await skip(tx, held, push, refusal))
        else:
            answer.decisions.append(await receive(tx, held, push, preview_domain))
    await store.keep_answer(tx, site, digest, msgspec.to_builtins(answer))
    return answer


async def looked(database: Database, due: Due, refs: dict[str, str], preview_domain: str) -> None:
    """Treat what differs from last time as pushes. Whoever was told by a hook meanwhile knows better."""
    async with database.transaction() as tx:
        held = await git.hold(tx, due.site_id)
        if held is None or held.hook_heard_at != due.hook_heard_at:
            return
        await git.checked(tx, due.site_id, None)
        if held.refs is None:
            await git.remember_all(tx, due.site_id, refs)
    for push in _news(held, refs):
        await decide(database, due, push, preview_domain)


def _news(site: Connection, refs: dict[str, str]) -> list[Push]:
    if site.refs is None:
        # What was there before us is not news, but for the branch that is waited for.
        awaited = [name for name in refs if site.status == "awaiting_push" and site.target(name) == "live"]
        return [Push(name, refs[name], "poll") for name in awaited]
    moved = [Push(name, at, "poll") for name, at in refs.items() if site.refs.get(name) != at]
    return moved + [Push(name, None, "poll") for name in site.refs if name not in refs]


async def not_reached(database: Database, due: Due, reason: str) -> None:
    async with database.transaction() as tx:
        held = await git.hold(tx, due.site_id)
        if held is None or held.hook_heard_at != due.hook_heard_at:
            return
        if await git.checked(tx, due.site_id, reason) == UNREACHABLE_AFTER:
            await publish(tx, GIT_UNREACHABLE, held.about(), domain=held.domain, reason=reason)


async def _environment(tx: Tx, site: Connection, push: Push, target: Target, preview_domain: str) -> str:
    if target == "live":
        return (await environments.production(tx, site.site_id)).id
    if target == "staging":
        staging = await environments.staging(tx, site.site_id)
        if staging is None:
            raise NoStaging
        return staging.id
    env, _ = await environments.create_branch(tx, site.site_id, push.branch, preview_domain=preview_domain)
    return env


async def _build(tx: Tx, push: Wanted) -> str | None:
    """None where nothing can be built now, but may be later: it is tried again."""
    try:
        job = await builds.enqueue(
            tx,
            push.site_id,
            push.env_id,
            source_ref=push.branch,
            commit=push.commit,
            auto_deploy=True,
        )
    except (JobsWaiting, EnvironmentNotReady):
        await _put_off(tx, push)
        return None
    await store.take(tx, push, job.id)
    return job.id


async def _put_off(tx: Tx, push: Wanted) -> None:
    """An environment that is being made is ready soon; one that is suspended or has failed, perhaps never."""
    env = await environments.get(tx, push.env_id)
    if env.status in ("deleting", "deleted"):
        await store.forget(tx, push.env_id)
    else:
        await store.put_off(tx, push.env_id, SOON if env.status in ("provisioning", "running") else LATER)


async def _replace(tx: Tx, push: Wanted) -> str | None:
    """A build that has not begun takes the newest commit instead of its own."""
    if push.job_id is None or not await builds.repin(
        tx, push.job_id, source_ref=push.branch, commit=push.commit
    ):
        return None
    await store.take(tx, push, push.job_id)
    return push.job_id


async def _build_or_skip(tx: Tx, push: Wanted) -> None:
    try:
        await _build(tx, push)
    except ApiError as refusal:
        await store.take(tx, push, None)
        held = await git.hold(tx, push.site_id)
        if held is not None:
            await _tell_skipped(tx, held, push.branch, push.commit, str(refusal))


async def _settle(tx: Tx, push: Wanted) -> None:
    """A site that has never shown anything but its placeholder waits for its branch."""
    await store.settle(tx, push.env_id)
    if push.job_code != RefMissing.code or (await environments.get(tx, push.env_id)).type != PRODUCTION:
        return
    if await deployments.current(tx, push.env_id) is None:
        await sites.await_push(tx, push.site_id, push.branch)
